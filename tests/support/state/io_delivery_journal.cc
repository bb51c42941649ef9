#include "tests/support/state/io_delivery_journal.h"

#include <utility>

#include "ackline/base/check.h"

namespace ackline::state {

IoDeliveryJournal::IoDeliveryJournal(io::Journal& journal, std::function<void()> turn)
    : journal_(journal), turn_(std::move(turn)) {}

Result<void> IoDeliveryJournal::write(PartitionNumber partition,
                                      std::span<const JournalBody> records) {
  ACKLINE_CHECK(journal_.open_is_empty());
  for (const JournalBody& record : records) {
    journal_.append(static_cast<std::uint8_t>(record.type), partition, as_bytes(record.body));
  }
  const Result<Lsn> written = journal_.commit();
  if (!written) {
    static_cast<void>(journal_.discard_open());  // written again by the caller, or not at all
    return fail(written);
  }
  return {};
}

Result<void> IoDeliveryJournal::sync() {
  journal_.want_sync();
  while (journal_.poison() == nullptr && journal_.synced() < journal_.written()) {
    turn_();
  }
  return journal_.poison() == nullptr ? Result<void>() : std::unexpected(*journal_.poison());
}

}  // namespace ackline::state
