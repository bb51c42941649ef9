# ackline_embed(<target> NAMESPACE <namespace> FILES <file>...): each file of the current source directory
# as `std::string_view <namespace>::<name>()`, where <name> is the file's name with '_' for what is no
# letter or digit ("ui/live.js" is ui_live_js). The text is in the binary; nothing is read at run time.
#
# Run as a script (cmake -P) it writes one such source: -DINPUT= -DOUTPUT= -DNAME= -DNAMESPACE=.

if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  file(WRITE "${OUTPUT}" "// Made from ${NAME} by the build.\n#include <string_view>\n\n"
    "#pragma clang diagnostic ignored \"-Woverlength-strings\"\n\n"
    "namespace ${NAMESPACE} {\n\nstd::string_view ${NAME}();\nstd::string_view ${NAME}() {\n"
    "  return R\"ackline(")
  file(APPEND "${OUTPUT}" "${text}")
  file(APPEND "${OUTPUT}" ")ackline\";\n}\n\n}  // namespace ${NAMESPACE}\n")
  return()
endif()

set(ACKLINE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

function(ackline_embed target)
  cmake_parse_arguments(ARG "" "NAMESPACE;FROM" "FILES" ${ARGN})
  foreach(file ${ARG_FILES})
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" name "${file}")
    set(input "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FROM}/${file}")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/embed/${target}_${name}.cc")
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DINPUT=${input}" "-DOUTPUT=${output}" "-DNAME=${name}"
              "-DNAMESPACE=${ARG_NAMESPACE}" -P "${ACKLINE_EMBED_SCRIPT}"
      DEPENDS "${input}" "${ACKLINE_EMBED_SCRIPT}"
      VERBATIM)
    target_sources(${target} PRIVATE "${output}")
  endforeach()
endfunction()
