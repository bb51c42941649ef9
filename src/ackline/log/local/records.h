// What the journal and the checkpoint keep of a partition: the body of a publish record and the
// section of a checkpoint (docs/formats/segment.md).
//
// Pure codecs. Both sit inside checksummed records of others and carry none of their own, except
// that each event of a publish body has its segment record's checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackline/base/bytes.h"
#include "ackline/base/result.h"
#include "ackline/base/types.h"
#include "ackline/log/local/segment_index.h"

namespace ackline::log {

struct PublishBody {
  Offset base;  // of the first event
  std::uint32_t events = 0;
  WallMs time;
  Offset segment;              // base offset of the segment
  std::uint64_t position = 0;  // where the first record begins in it
  ByteView records;            // the segment's very bytes
};

// Everything but the records, which the caller appends itself (`record_bytes` of them).
void encode_publish_head(std::string& out, const PublishBody& body, std::uint64_t record_bytes);
// Errors: kCorrupt.
[[nodiscard]] Result<PublishBody> decode_publish(ByteView bytes);

// One record of a publish body, verified: its length in bytes, header included. kCorrupt when the
// bytes do not begin with the record of `offset`.
[[nodiscard]] Result<std::uint32_t> verify_record(ByteView bytes, std::uint64_t identity,
                                                  Offset offset);

struct SectionSegment {
  SegmentFacts facts;
  bool sealed = false;
  SegmentIndex index;  // thinned; only of those that are not sealed
};

struct Section {
  Offset log_start;
  Offset next;
  std::vector<SectionSegment> segments;
};

[[nodiscard]] std::string encode_section(const Section& section);
// Errors: kCorrupt.
[[nodiscard]] Result<Section> decode_section(std::string_view bytes);

}  // namespace ackline::log
