#!/usr/bin/python3
"""prepare_cifar10_pcap.py: the ResNet tutorial's command, answered by `gpuwire prepare`.

Takes the tutorial's flags and hands them on. CIFAR-10 is looked for in --data-root (default: data), in its binary
version. Without --data-root and without CIFAR-10 there, Debian's Fashion-MNIST takes its place, said aloud; the
label file names the data set that was used."""
import argparse
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = {  # the tutorial's flags, in its order; gpuwire has the same names and defaults
    "--num-images": "N", "--images-per-batch": "N", "--out": "FILE.pcap", "--out-payload-len": "BYTES",
    "--header-size": "BYTES", "--payload-byte-offset": "BYTES", "--seq-bit-offset": "BITS",
    "--seq-bit-width": "BITS", "--packets-per-image": "N", "--udp-port": "PORT", "--eth-src": "MAC",
    "--eth-dst": "MAC", "--ip-src": "IP", "--ip-dst": "IP",
}


def find_gpuwire():
    tried = [os.environ.get("GPUWIRE", ""), os.path.join(HERE, "../build/release/bin/gpuwire"),
             shutil.which("gpuwire") or ""]
    for path in tried:
        if path and os.access(path, os.X_OK):
            return path
    sys.exit("prepare_cifar10_pcap.py: no gpuwire; build it (make), or name it in the environment as GPUWIRE")


def has_cifar(root):
    folders = ("", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin")
    return any(os.path.exists(os.path.join(root, f, "data_batch_1.bin")) for f in folders)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, value in FLAGS.items():
        parser.add_argument(flag, metavar=value, default="data/cifar10_resnet.pcap" if flag == "--out" else None)
    parser.add_argument("--data-root", metavar="DIR", help="folder of the CIFAR-10 binary files (default: data)")
    args, rest = parser.parse_known_args()  # what gpuwire alone knows (--omit, --flip, ...) goes through
    command = [find_gpuwire(), "prepare"]
    for flag in FLAGS:
        value = getattr(args, flag[2:].replace("-", "_"))
        if value is not None:
            command += [flag, value]
    root = args.data_root or "data"
    if args.data_root or has_cifar(root):
        command += ["--source", "cifar10", "--data-root", root]
    else:
        print("prepare_cifar10_pcap.py: no CIFAR-10 in data/ (cifar-10-binary.tar.gz, unpacked); "
              "Fashion-MNIST takes its place", file=sys.stderr)
    os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
    os.execv(command[0], command + rest)


if __name__ == "__main__":
    main()
