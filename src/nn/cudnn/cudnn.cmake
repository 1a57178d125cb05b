# GPU inference: cuDNN's headers at build time, its library at run time
set(WITH_CUDNN AUTO CACHE STRING "inference on NVIDIA GPUs (AUTO, ON, OFF)")
if(GW_CUDA_INCLUDE AND NOT WITH_CUDNN STREQUAL "OFF")
  find_path(GW_CUDNN_INCLUDE cudnn.h HINTS ${GW_CUDA_INCLUDE})
endif()
# the kernels between convolutions run in the emulator too, so they are always built and tested
target_sources(gw_nn PRIVATE cudnn/kernels.c cudnn/kernels_lane.c cudnn/choice.c)
gw_kernels(nn cudnn/kernels.cu gw__nn_fatbin)
if(GW_CUDNN_INCLUDE AND NOT WITH_CUDNN STREQUAL "OFF")
  target_sources(gw_nn PRIVATE cudnn/lib.c cudnn/conv.c cudnn/layout.c cudnn/steps.c cudnn/exec.c)
  target_compile_definitions(gw_nn PRIVATE GW_WITH_CUDNN)
  set_property(SOURCE cudnn/lib.c cudnn/conv.c cudnn/layout.c cudnn/steps.c cudnn/exec.c
               APPEND PROPERTY COMPILE_OPTIONS -isystem${GW_CUDNN_INCLUDE} -isystem${GW_CUDA_INCLUDE})
  gw_decided(CUDNN yes "${GW_CUDNN_INCLUDE}/cudnn.h")
else()
  gw_decided(CUDNN no "no CUDA, or cudnn.h not found")
endif()
