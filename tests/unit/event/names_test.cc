#include "ackline/event/names.h"

#include <gtest/gtest.h>

namespace ackline::event {
namespace {

TEST(Names, TopicsFollowTheirRule) {
  for (const std::string_view good : {"o", "orders", "Orders-2.x_y", "...", "a.b", "_DLQx", "-"}) {
    EXPECT_TRUE(check_topic_name(good)) << good;
  }
  EXPECT_TRUE(check_topic_name(std::string(kMaxTopicName, 't')));
  for (const std::string_view bad :
       {"", ".", "..", "a/b", "a b", "a:b", "\xC3\xBC", "orders_DLQ", "_DLQ", "a\n", "._DLQ"}) {
    const auto checked = check_topic_name(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().word(), "bad_name");
    EXPECT_EQ(checked.error().field, "topic");
    EXPECT_FALSE(checked.error().remedy.empty());
  }
  EXPECT_FALSE(check_topic_name(std::string(kMaxTopicName + 1, 't')));
  EXPECT_FALSE(check_topic_name(std::string_view("a\0b", 3)));
}

TEST(Names, ReadingMayNameADeadLetterTopic) {
  EXPECT_TRUE(check_any_topic_name("orders_DLQ"));
  EXPECT_TRUE(check_any_topic_name(dlq_topic(std::string(kMaxTopicName, 't'))));
  EXPECT_FALSE(check_any_topic_name("_DLQ"));
  EXPECT_FALSE(check_any_topic_name(".._DLQ"));
  EXPECT_FALSE(check_any_topic_name("a/b_DLQ"));
}

TEST(Names, TheDeadLetterTopicAndBack) {
  EXPECT_EQ(dlq_topic("orders"), "orders_DLQ");
  EXPECT_EQ(source_topic("orders_DLQ"), "orders");
  EXPECT_EQ(source_topic("orders"), "orders");
  EXPECT_TRUE(is_dlq_topic("orders_DLQ"));
  EXPECT_FALSE(is_dlq_topic("orders_dlq"));
}

TEST(Names, ClientsAndGroupsFollowTheirRule) {
  for (const std::string_view good : {"c1", "billing", "a:b", ".", "A-b_c.d:e"}) {
    EXPECT_TRUE(check_client_id(good)) << good;
    EXPECT_TRUE(check_group_name(good)) << good;
  }
  EXPECT_TRUE(check_client_id(std::string(kMaxClientName, 'c')));
  EXPECT_FALSE(check_client_id(std::string(kMaxClientName + 1, 'c')));
  for (const std::string_view bad : {"", "a b", "a/b", "a#b", "\xFF", "a\r\n"}) {
    EXPECT_EQ(check_client_id(bad).error().field, "clientId") << bad;
    EXPECT_EQ(check_group_name(bad).error().word(), "bad_name") << bad;
    EXPECT_EQ(check_group_name(bad).error().field, "group") << bad;
  }
}

}  // namespace
}  // namespace ackline::event
