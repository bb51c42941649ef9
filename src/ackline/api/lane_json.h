// A lane as the redrive route and the lane routes show it.
#pragma once

#include "ackline/api/admin.h"
#include "ackline/api/json_writer.h"

namespace ackline::api {

void append_lane(JsonWriter& writer, const LaneItem& lane);

}  // namespace ackline::api
