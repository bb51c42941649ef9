#include "ackline/channel/poll_render.h"

namespace ackline::channel {

std::string poll_json(std::span<const Delivery> deliveries) {
  constexpr std::size_t kAroundEvent = 256;  // of one delivery, without its event
  std::string out;
  std::size_t size = 2;
  for (const Delivery& delivery : deliveries) {
    size += delivery.frame.size() + kAroundEvent;
  }
  out.reserve(size);
  out.push_back('[');
  for (const Delivery& delivery : deliveries) {
    if (out.size() > 1) {
      out.push_back(',');
    }
    append_delivery_json(delivery, out);
  }
  out.push_back(']');
  return out;
}

}  // namespace ackline::channel
