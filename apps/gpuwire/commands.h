/* apps/gpuwire/commands.h: the table of commands. A new one is a file cmd_NAME.c with gw_cmd_NAME() and one row
 * here; CMake finds the file by itself. Must not know any command's options. Next: main.c. */
#ifndef GW_APP_COMMANDS_H
#define GW_APP_COMMANDS_H

/* X(name, one line of help) in the order of use */
#define GW_COMMANDS(X)                                                                             \
	X(prepare, "turn images into a capture of packets, with labels beside it")                 \
	X(model, "write a ResNet feature extractor as an ONNX file, weights from a seed")          \
	X(config, "check configuration files, explain keys, write the schema")                     \
	X(doctor, "look this machine over: one line a finding, with the command that fixes it")    \
	X(info, "version, build options, engines, GPU backend, libraries")                  \
	X(bench, "measure: the ratio to a peer in the same run, the floor, the place")

/* argv[0] is "gpuwire NAME". Returns the exit status: 0 done, 1 refused or failed, 64 wrong usage (argp). */
#define GW_COMMAND_PROTOTYPE(name, help) int gw_cmd_##name(int argc, char **argv);
GW_COMMANDS(GW_COMMAND_PROTOTYPE)
#undef GW_COMMAND_PROTOTYPE

#endif
