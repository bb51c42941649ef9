// The codecs of the journal's delivery records: whatever decodes must encode to something that
// decodes to the same, and the image must take every decodable record in any order.
#include <cstdint>
#include <string>

#include "ackline/state/records.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/state/delivery_image.h"

namespace {

using namespace ackline;

template <class Record>
void round_trip(ByteView body) {
  const Result<Record> record = Record::decode(body);
  if (!record) {
    return;
  }
  std::string bytes;
  record->encode(bytes);
  const Result<Record> again = Record::decode(as_bytes(bytes));
  if (!again || *again != *record) {
    __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  state::DeliveryImage image;
  // A journal: (type, length, body) until the bytes are used up.
  for (int i = 0; i < 64 && !input.empty(); ++i) {
    const auto type = static_cast<state::RecordType>(input.byte());
    const ByteView body = as_bytes(input.text(input.byte()));
    round_trip<state::OfferRecord>(body);
    round_trip<state::EndRecord>(body);
    round_trip<state::ExtendRecord>(body);
    round_trip<state::SettleRecord>(body);
    round_trip<state::ReopenRecord>(body);
    round_trip<state::LanePartRecord>(body);
    round_trip<state::LaneEntryRecord>(body);
    round_trip<state::LogStartRecord>(body);
    round_trip<state::AliveRecord>(body);
    round_trip<state::BootRecord>(body);
    (void)image.apply(type, PartitionNumber(1), body);
  }
  for (const auto& [key, progress] : image.all()) {
    fuzz::planted(progress.settled.size() == 2);
    Offset before = progress.frontier;
    for (const auto& [first, last] : progress.settled) {
      // Disjoint, not touching, above the frontier.
      if (first <= before.next() || last < first) {
        __builtin_trap();
      }
      before = last;
    }
    for (const auto& [offset, delivery] : progress.deliveries) {
      if (progress.is_settled(offset)) {
        __builtin_trap();
      }
    }
  }
  return 0;
}
