# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/prefix)
run(${CMAKE_COMMAND} -S ${consumer} -B ${scratch}/build -G ${generator} -DCMAKE_PREFIX_PATH=${scratch}/prefix
  -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/consumer)
