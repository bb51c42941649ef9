// What it costs to write and to read a deliveryId.
#include <benchmark/benchmark.h>

#include "ackline/delivery/delivery_id.h"

namespace ackline::delivery {
namespace {

DeliveryId typical(std::uint32_t i) {
  return {Epoch(17), ProgressNumber(42), PartitionIndex(7), Offset(1'234'567 + i), i & 0xFFFU, i};
}

void Encode(benchmark::State& state) {
  const DeliveryIdCodec codec(0x12345, DeliveryIdCodec::Key{});
  std::string text;
  text.reserve(128);
  std::uint32_t i = 0;
  for (auto _ : state) {
    text.clear();
    codec.encode(typical(i++), text);
    benchmark::DoNotOptimize(text.data());
  }
}
BENCHMARK(Encode);

void Decode(benchmark::State& state) {
  const DeliveryIdCodec codec(0x12345, DeliveryIdCodec::Key{});
  std::string text;
  codec.encode(typical(99), text);
  for (auto _ : state) {
    benchmark::DoNotOptimize(codec.decode(text));
  }
}
BENCHMARK(Decode);

}  // namespace
}  // namespace ackline::delivery
