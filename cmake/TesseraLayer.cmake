# tessera_layer(NAME [DEPENDS layers…] [LIBRARIES targets…] [SUBDIRS dirs…])
#
# A folder of src/ as an object library: every .cpp in it (and in SUBDIRS) that is no test, and one
# executable tessera_NAME_tests from its *_test.cpp, linked with the layers below and no others, so
# that an upward dependency does not link. Files named *_testing.cpp help tests of several layers and
# do not go into the library.
function(tessera_layer NAME)
  cmake_parse_arguments(L "" "" "DEPENDS;LIBRARIES;SUBDIRS" ${ARGN})
  set(patterns *.cpp)
  foreach(dir IN LISTS L_SUBDIRS)
    list(APPEND patterns ${dir}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  set(helpers ${sources})
  list(FILTER helpers INCLUDE REGEX "_testing\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test(ing)?\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  if(NOT sources)
    add_library(tessera_${NAME}_layer INTERFACE)
    return()
  endif()
  add_library(tessera_${NAME}_objects OBJECT ${sources})
  target_include_directories(tessera_${NAME}_objects PUBLIC
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(tessera_${NAME}_objects PRIVATE tessera_compile_options)

  # tessera_NAME_layer: these objects and those of all layers below, to link tests against.
  add_library(tessera_${NAME}_layer INTERFACE)
  target_sources(tessera_${NAME}_layer INTERFACE $<TARGET_OBJECTS:tessera_${NAME}_objects>)
  target_include_directories(tessera_${NAME}_layer INTERFACE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  if(TESSERA_BUILD_TESTS AND helpers)
    add_library(tessera_${NAME}_testing OBJECT ${helpers})
    target_link_libraries(tessera_${NAME}_testing PRIVATE
      tessera_${NAME}_objects tessera_compile_options)
    target_sources(tessera_${NAME}_layer INTERFACE $<TARGET_OBJECTS:tessera_${NAME}_testing>)
  endif()
  foreach(lib IN LISTS L_LIBRARIES)
    target_link_libraries(tessera_${NAME}_objects PUBLIC ${lib})
    target_link_libraries(tessera_${NAME}_layer INTERFACE ${lib})
  endforeach()
  foreach(dep IN LISTS L_DEPENDS)
    target_link_libraries(tessera_${NAME}_layer INTERFACE tessera_${dep}_layer)
    if(TARGET tessera_${dep}_objects)
      target_link_libraries(tessera_${NAME}_objects PUBLIC tessera_${dep}_objects)
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TESSERA_LAYERS ${NAME})

  if(TESSERA_BUILD_TESTS AND tests)
    add_executable(tessera_${NAME}_tests ${tests})
    target_link_libraries(tessera_${NAME}_tests PRIVATE
      tessera_${NAME}_layer tessera_compile_options GTest::gtest GTest::gtest_main)
    target_compile_definitions(tessera_${NAME}_tests PRIVATE
      TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    add_test(NAME ${NAME} COMMAND tessera_${NAME}_tests)
  endif()
endfunction()
