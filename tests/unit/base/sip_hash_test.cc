#include "ackline/base/sip_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace ackline {
namespace {

// The vectors of the SipHash paper's reference: key 00 01 … 0f, input 00 01 … (n - 1).
TEST(SipHash, AgreesWithThePublishedVectors) {
  const SipKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
  std::string input;
  for (char i = 0; i < 15; ++i) {
    input.push_back(i);
  }
  EXPECT_EQ(sip_hash(key, {}), 0x726fdb47dd0e0e31ULL);
  EXPECT_EQ(sip_hash(key, as_bytes(input.substr(0, 1))), 0x74f839c593dc67fdULL);
  EXPECT_EQ(sip_hash(key, as_bytes(input.substr(0, 8))), 0x93f5f5799a932462ULL);
  EXPECT_EQ(sip_hash(key, as_bytes(input)), 0xa129ca6149be45e5ULL);
}

}  // namespace
}  // namespace ackline
