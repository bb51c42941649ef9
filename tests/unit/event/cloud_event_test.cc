#include "ackline/event/cloud_event.h"

#include <gtest/gtest.h>

#include <string>

namespace ackline::event {
namespace {

CloudEvent minimal() {
  CloudEvent event;
  event.set("id", "1");
  event.set("source", "/s");
  event.set("type", "t");
  return event;
}

TEST(CloudEvent, SetReplacesAndRemoveRemoves) {
  CloudEvent event = minimal();
  event.set_integer("n", 1);
  event.set("n", "one");
  ASSERT_NE(event.find("n"), nullptr);
  EXPECT_EQ(event.find("n")->type, AttributeType::kString);
  EXPECT_EQ(event.attributes().size(), 4U);
  event.remove("n");
  EXPECT_EQ(event.find("n"), nullptr);
  EXPECT_EQ(event, minimal());
}

TEST(CloudEvent, SpecifiedAttributesGetTheirTypes) {
  CloudEvent event = minimal();
  event.set("time", "2026-11-29T12:00:00Z");
  event.set("dataschema", "urn:x");
  EXPECT_EQ(event.find("source")->type, AttributeType::kUriReference);
  EXPECT_EQ(event.find("time")->type, AttributeType::kTimestamp);
  EXPECT_EQ(event.find("dataschema")->type, AttributeType::kUri);
  EXPECT_TRUE(check_event(event));
}

TEST(CloudEvent, EveryTypeIsChecked) {
  const auto refused = [](AttributeType type, std::string value) {
    CloudEvent event = minimal();
    event.set("x", type, std::move(value));
    return !check_event(event);
  };
  EXPECT_FALSE(refused(AttributeType::kString, ""));
  EXPECT_TRUE(refused(AttributeType::kString, "a\x7F"));
  EXPECT_TRUE(refused(AttributeType::kString, "\xEF\xB7\x90"));
  EXPECT_FALSE(refused(AttributeType::kBinary, "\xFF\x01"));
  EXPECT_FALSE(refused(AttributeType::kBoolean, "false"));
  EXPECT_TRUE(refused(AttributeType::kBoolean, "False"));
  EXPECT_FALSE(refused(AttributeType::kInteger, "-2147483648"));
  EXPECT_TRUE(refused(AttributeType::kInteger, "2147483648"));
  EXPECT_TRUE(refused(AttributeType::kInteger, "-0"));
  EXPECT_TRUE(refused(AttributeType::kInteger, "+1"));
  EXPECT_TRUE(refused(AttributeType::kInteger, ""));
  EXPECT_FALSE(refused(AttributeType::kUri, "https://example.org/\xC3\xBC?q=%20#f"));
  EXPECT_TRUE(refused(AttributeType::kUri, "1x:y"));
  EXPECT_TRUE(refused(AttributeType::kUri, ":y"));
  EXPECT_FALSE(refused(AttributeType::kUriReference, "../a?b#c"));
  EXPECT_TRUE(refused(AttributeType::kUriReference, ""));
  EXPECT_TRUE(refused(AttributeType::kUriReference, "a%2"));
  EXPECT_TRUE(refused(AttributeType::kUriReference, "<a>"));
  EXPECT_FALSE(refused(AttributeType::kTimestamp, "2026-11-29T12:00:00Z"));
  EXPECT_TRUE(refused(AttributeType::kTimestamp, "2026-11-29"));
}

TEST(CloudEvent, DataMustBeOfItsKind) {
  CloudEvent event = minimal();
  event.set_data(DataKind::kNone, "x");
  EXPECT_FALSE(check_event(event));
  event.set_data(DataKind::kJson, "[1,]");
  EXPECT_EQ(check_event(event).error().word(), "bad_json");
  event.set_data(DataKind::kJson, " [1] ");
  EXPECT_TRUE(check_event(event));
  event.set_data(DataKind::kText, "\xFF");
  EXPECT_EQ(check_event(event).error().word(), "bad_utf8");
  event.set_data(DataKind::kBinary, "\xFF");
  EXPECT_TRUE(check_event(event));
}

TEST(CloudEvent, AnErrorNamesALongNameShortened) {
  const auto checked = check_attribute_name(std::string(1000, 'A'));
  ASSERT_FALSE(checked);
  EXPECT_LT(checked.error().field.size(), 100U);
  EXPECT_LT(checked.error().detail.size(), 200U);
}

TEST(CloudEvent, InternalAndDeadLetterNamesAreTold) {
  for (const std::string_view name : {"empopck", "emmqoffset", "emmqpartition"}) {
    EXPECT_TRUE(is_internal_attribute(name)) << name;
  }
  for (const std::string_view name : {"emttl", "emcorrelationid", "emtenantid", "partitionkey"}) {
    EXPECT_FALSE(is_internal_attribute(name)) << name;
  }
  for (const std::string_view name :
       {"dlqreason", "dlqattempts", "dlqerror", "dlqtopic", "dlqpartition", "dlqoffset", "dlqgroup",
        "dlqtime", "dlqkey", "dlqdeliveryid"}) {
    EXPECT_TRUE(is_dlq_attribute(name)) << name;
  }
  EXPECT_FALSE(is_dlq_attribute("dlqother"));
}

TEST(MediaType, JsonAndTextAreTold) {
  for (const std::string_view type : {"application/json", "Application/JSON; charset=utf-8",
                                      "text/json", "application/vnd.api+json", "a/b+JSON ;x=y"}) {
    EXPECT_TRUE(is_json_media_type(type)) << type;
  }
  for (const std::string_view type : {"", "json", "text/plain", "application/jsonx", "a/json5"}) {
    EXPECT_FALSE(is_json_media_type(type)) << type;
  }
  EXPECT_TRUE(is_text_media_type("text/csv; header=present; Charset=UTF-8"));
  EXPECT_TRUE(is_text_media_type("image/svg+xml"));
  EXPECT_FALSE(is_text_media_type("text/plain; charset=latin1"));
  EXPECT_FALSE(is_text_media_type("application/pdf"));
}

}  // namespace
}  // namespace ackline::event
