#!/usr/bin/python3
"""doctor.py GPUWIRE: `gpuwire doctor` on machines made of files, and `gpuwire info`."""
import json
import os
import struct
import subprocess
import sys
import tempfile

gpuwire = sys.argv[1]
failed = 0
env = {k: v for k, v in os.environ.items() if not k.startswith("GPUWIRE_")}
env["GPUWIRE_GPU"] = "emu"


def check(ok, what):
    global failed
    if not ok:
        print("FAIL:", what)
        failed += 1


class Machine:
    """A tree of files below a temporary folder."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.root = self.dir.name

    def put(self, path, text):
        full = self.root + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as f:
            f.write(text if isinstance(text, bytes) else (text + "\n").encode())

    def link(self, path, to):
        full = self.root + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.islink(full):
            os.unlink(full)
        os.symlink(os.path.relpath(self.root + to, os.path.dirname(full)), full)

    def pci(self, where, files, driver=None):
        """A device below /sys/devices, and its link on the bus."""
        bdf = os.path.basename(where)
        for name, text in files.items():
            self.put(f"/sys/devices/{where}/{name}", text)
        self.link(f"/sys/bus/pci/devices/{bdf}", f"/sys/devices/{where}")
        if driver:
            os.makedirs(f"{self.root}/sys/bus/pci/drivers/{driver}", exist_ok=True)
            self.link(f"/sys/devices/{where}/driver", f"/sys/bus/pci/drivers/{driver}")

    def doctor(self, status, **more):
        run = subprocess.run([gpuwire, "doctor", "--root", self.root + "/", "--json"], capture_output=True, text=True,
                             env={**env, **more})
        check(run.returncode == status, f"status {run.returncode}, want {status}: {run.stdout}{run.stderr}")
        out = json.loads(run.stdout)
        for s in ("ok", "note", "warn", "bad"):
            check(out[s] == sum(f["status"] == s for f in out["findings"]), f"the count of {s}")
        check(self.root not in run.stdout, "a command names the test's folder")
        return out["findings"]


def has(findings, status, topic, text="", fix=""):
    for f in findings:
        if f["status"] == status and f["topic"] == topic and text in f["text"] and fix in f["fix"]:
            return
    check(False, f"no {status} {topic} '{text}' '{fix}' in " + "\n  ".join(str(f) for f in findings))


def lacks(findings, topic, text=""):
    check(not any(f["topic"] == topic and text in f["text"] for f in findings), f"{topic} '{text}' is there")


def config_space(mrrs, acs=None):
    """4096 bytes: a PCIe capability behind another one, and perhaps access control behind another extended one."""
    c = bytearray(4096)
    c[0x34] = 0x40
    c[0x40:0x42] = bytes([0x01, 0x60])
    c[0x60:0x62] = bytes([0x10, 0x00])
    struct.pack_into("<H", c, 0x68, mrrs.bit_length() - 8 << 12)
    struct.pack_into("<HH", c, 0x100, 0x0001, 0x1501 & 0xF | 0x150 << 4)
    if acs is not None:
        struct.pack_into("<HHHH", c, 0x150, 0x000D, 1, 0x5F, acs)
    return bytes(c)


def empty():
    m = Machine()
    f = m.doctor(0)
    has(f, "ok", "engine", "choose nic", "--engine nic --address PORT=cable:0")
    has(f, "note", "engine", "ibverbs is not built in")
    has(f, "note", "gpu", "GPUWIRE_GPU=emu", "unset GPUWIRE_GPU")
    has(f, "note", "device-memory", "emulator")
    has(f, "note", "cudnn", "none of the usual folders", "GPUWIRE_CUDNN_DIR")
    has(f, "note", "driver", "no NVIDIA GPU")
    has(f, "note", "rdma-device", "engine nic plays one")
    has(f, "note", "cap_net_raw", "", "setcap")
    lacks(f, "offloads")
    f = m.doctor(1, GPUWIRE_CUDNN_DIR="/lib/nowhere")
    has(f, "bad", "cudnn", "GPUWIRE_CUDNN_DIR=/lib/nowhere", "unset")
    m.put("/lib/nowhere/libcudnn.so.9", "")
    has(m.doctor(0, GPUWIRE_CUDNN_DIR="/lib/nowhere"), "ok", "cudnn", "/lib/nowhere/libcudnn.so.9 (GPUWIRE_CUDNN_DIR)")
    m.put("/usr/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "")
    has(m.doctor(0), "ok", "cudnn", "/usr/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9")
    has(m.doctor(0, GPUWIRE_GPU="gpu"), "warn", "gpu", "not known")


def processor():
    m = Machine()
    cpu = "/sys/devices/system/cpu"
    m.put(f"{cpu}/online", "0-7")
    m.put(f"{cpu}/isolated", "")
    m.put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000006000\nCpus_allowed_list:\t3")
    m.put("/proc/self/limits", "Max locked memory         65536                65536                bytes")
    m.put(f"{cpu}/cpu0/cpufreq/scaling_governor", "performance")
    m.put(f"{cpu}/cpu1/cpufreq/scaling_governor", "powersave")
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")
    m.put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm")
    f = m.doctor(0)
    has(f, "warn", "cores", "core 3 alone", "taskset -c 0-7")
    has(f, "note", "isolation", "no core", "isolcpus=4-7")
    has(f, "warn", "governor", "1 of 2 cores run under 'powersave'", "echo performance | sudo tee")
    has(f, "warn", "clock", "hpet", "echo tsc")
    has(f, "ok", "cap_net_raw")
    has(f, "ok", "memlock", "64 KiB, which CAP_IPC_LOCK lifts")
    m.put("/proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-3,6")
    m.put(f"{cpu}/isolated", "4-7")
    m.put(f"{cpu}/cpu1/cpufreq/scaling_governor", "performance")
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock")
    f = m.doctor(0)
    has(f, "ok", "cores", "5 of 8 (0-3,6)")
    has(f, "ok", "isolation", "4-7")
    has(f, "ok", "governor", "performance on 2")
    has(f, "ok", "clock", "kvm-clock")
    has(f, "note", "memlock", "64 KiB", "limits.d/gpuwire.conf")
    m.put("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes")
    has(m.doctor(0), "ok", "memlock", "unlimited")


def memory():
    m = Machine()
    for node, nr, idle in ((0, 64, 60), (1, 8, 0), (2, 0, 0)):
        at = f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB"
        m.put(f"{at}/nr_hugepages", str(nr))
        m.put(f"{at}/free_hugepages", str(idle))
    m.put("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", "2")
    m.put("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages", "2")
    m.put("/proc/sys/kernel/numa_balancing", "1")
    f = m.doctor(0)
    has(f, "ok", "hugepages", "node0: 60 of 64 2 MiB")
    has(f, "ok", "hugepages", "node0: 2 of 2 1 GiB")
    has(f, "warn", "hugepages", "node1: all 8", "echo 16 | sudo tee /sys/devices/system/node/node1/hugepages/")
    has(f, "note", "hugepages", "node2: no 2 MiB", "echo 512 | sudo tee /sys/devices/system/node/node2/")
    has(f, "warn", "numa", "3 nodes", "numa_balancing=0")
    m.put("/proc/sys/kernel/numa_balancing", "0")
    has(m.doctor(0), "ok", "numa", "3 nodes")
    m = Machine()
    m.put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
    has(m.doctor(0), "note", "hugepages", "transparent", "echo madvise")


def interfaces():
    m = Machine()
    for name, kind, mtu in (("lo", 772, 65536), ("eth7", 1, 1500), ("eth8", 1, 9000)):
        m.put(f"/sys/class/net/{name}/type", str(kind))
        m.put(f"/sys/class/net/{name}/mtu", str(mtu))
        m.put(f"/sys/class/net/{name}/operstate", "up")
        m.put(f"/sys/class/net/{name}/speed", "100000")
        m.put(f"/sys/class/net/{name}/device/numa_node", "1")
        m.link(f"/sys/class/net/{name}/device/driver", "/sys/bus/pci/drivers/mlx5_core")
    f = m.doctor(0)
    has(f, "note", "interface", "eth7: MTU 1500, up, driver mlx5_core, 100000 Mb/s, node 1", "ip link set dev eth7 mtu 9000")
    has(f, "ok", "interface", "eth8: MTU 9000")
    lacks(f, "interface", "lo:")


def pair(same_bridge=True, mrrs=512, acs=0x1D, bar_end=0x0FFFFFFF, width="16", far="pci0000:00/0000:00:02.0", node="0"):
    """A GPU and a card, below one bridge or below two, of two root complexes unless far says otherwise."""
    m = Machine()
    m.pci("pci0000:c0/0000:c0:01.0", {"class": "0x060400", "config": config_space(512, acs)})
    m.pci("pci0000:c0/0000:c0:01.0/0000:ca:00.0", {
        "vendor": "0x10de", "class": "0x030200", "device": "0x2330", "numa_node": "1",
        "resource": f"0x0 0x0ffffff 0x40200\n0x0 {bar_end:#x} 0x14220c\n0x0 0x0 0x0"}, "nvidia")
    up = "pci0000:c0/0000:c0:01.0" if same_bridge else far
    m.pci(f"{up}/0000:cb:00.0", {
        "vendor": "0x15b3", "class": "0x020000", "numa_node": "1" if same_bridge else node, "config": config_space(mrrs),
        "current_link_width": width, "max_link_width": "16"}, "mlx5_core")
    m.link("/sys/class/infiniband/mlx5_0/device", f"/sys/devices/{up}/0000:cb:00.0")
    m.put("/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002")
    return m


def cards():
    m = pair(width="8")
    f = m.doctor(1)
    has(f, "ok", "gpu-device", "0000:ca:00.0: device 0x2330, node 1, driver nvidia")
    has(f, "warn", "bar1", "256 MiB", "firmware")
    has(f, "ok", "rdma-device", "mlx5_0: 0000:cb:00.0, driver mlx5_core, firmware 28.39.1002")
    has(f, "warn", "mrrs", "up to 512 bytes", "setpci -s 0000:cb:00.0 CAP_EXP+8.w=5000:7000")
    has(f, "warn", "pcie-link", "8 lanes of 16")
    has(f, "ok", "topology", "below one PCIe bridge")
    has(f, "warn", "acs", "on at 1 bridge (0000:c0:01.0)", "ECAP_ACS+6.w=0000")
    has(f, "bad", "driver", "1 NVIDIA GPU on the bus, and no driver", "nvidia-open")
    m.put("/sys/kernel/iommu_groups/0/type", "DMA-FQ")
    m.put("/sys/kernel/iommu_groups/1/type", "identity")
    has(m.doctor(1), "warn", "iommu", "1 of 2 groups", "iommu=pt")
    m.put("/sys/kernel/iommu_groups/0/type", "identity")
    has(m.doctor(1), "ok", "iommu", "passing through")
    m.put("/sys/devices/pci0000:c0/0000:c0:01.0/0000:cb:00.0/config", config_space(512)[:64])
    m.put("/sys/devices/pci0000:c0/0000:c0:01.0/config", config_space(512)[:64])
    f = m.doctor(1)
    has(f, "note", "mrrs", "root only", "sudo gpuwire doctor")
    has(f, "note", "acs", "root only", "sudo gpuwire doctor")
    m = pair(same_bridge=False, mrrs=4096, acs=0, bar_end=0x1FFFFFFFFF)
    f = m.doctor(1)
    has(f, "ok", "bar1", "131072 MiB")
    has(f, "ok", "mrrs", "up to 4096")
    has(f, "warn", "topology", "between nodes (SYS)", "nvidia-smi topo -m")
    has(f, "ok", "acs")
    lacks(f, "pcie-link")
    near = pair(same_bridge=False, far="pci0000:c0/0000:c0:01.1")
    has(near.doctor(1), "warn", "topology", "host bridge only (PHB)", "nvidia-smi topo -m")
    has(pair(same_bridge=False, node="1").doctor(1), "warn", "topology", "inside node (NODE)")
    # capability lists that run in circles, or out of the file, end
    loop = bytearray(config_space(512))
    loop[0x41] = 0x40
    m.put("/sys/devices/pci0000:00/0000:00:02.0/0000:cb:00.0/config", bytes(loop))
    struct.pack_into("<HH", loop, 0x100, 1, 0x1001)
    m.put("/sys/devices/pci0000:c0/0000:c0:01.0/config", bytes(loop))
    has(m.doctor(1), "ok", "acs")


def drivers():
    closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\nGCC version:  gcc 12"
    opened = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"
    m = pair()
    m.put("/proc/driver/nvidia/version", closed)
    f = m.doctor(1)
    has(f, "ok", "driver", "535.183.01")
    has(f, "bad", "peer-memory", "nvidia-peermem is not loaded", "sudo modprobe nvidia-peermem")
    has(f, "warn", "peer-mapping", "not set", 'NVreg_RegistryDwords="PeerMappingOverride=1;"')
    has(f, "note", "gdrcopy", "not loaded", "modprobe gdrdrv")
    os.makedirs(m.root + "/sys/module/nvidia_peermem")
    os.makedirs(m.root + "/sys/module/gdrdrv")
    m.put("/proc/driver/nvidia/params", 'EnableStreamMemOPs: 0\nRegistryDwords: "PeerMappingOverride=1;"')
    f = m.doctor(0)
    has(f, "ok", "peer-memory", "nvidia-peermem (the closed driver")
    has(f, "ok", "peer-mapping", "PeerMappingOverride=1")
    has(f, "ok", "gdrcopy")
    m.put("/proc/driver/nvidia/version", opened)
    has(m.doctor(0), "note", "peer-memory", "dma-buf is the one to use", "modprobe -r")
    os.rmdir(m.root + "/sys/module/nvidia_peermem")
    has(m.doctor(0), "ok", "peer-memory", "dma-buf (open driver)")
    # no card: the same gaps are only told
    m = Machine()
    m.put("/proc/driver/nvidia/version", closed)
    has(m.doctor(0), "note", "peer-memory", "nvidia-peermem is not loaded")


def words():
    def run(*args):
        return subprocess.run([gpuwire, *args], capture_output=True, text=True, env=env)

    check(run("doctor", "--root", "/nowhere/at/all").returncode == 64, "a root that is not there")
    check(run("doctor", "x").returncode == 64 and run("info", "x").returncode == 64, "a word too many")
    m = pair()
    text = run("doctor", "--root", m.root)
    check(text.returncode == 1 and "bad   driver" in text.stdout and "  ->  sudo apt-get" in text.stdout, text.stdout)
    check(len(text.stdout.splitlines()) == len(m.doctor(1)) + 1, "one line a finding, and the sum")
    quiet = run("doctor", "-q", "--root", m.root)
    check(quiet.returncode == 1 and "note" not in quiet.stdout and "warn  mrrs" in quiet.stdout, quiet.stdout)
    check(run("doctor").returncode in (0, 1), "this machine")
    version = run("--version").stdout.split()[1]
    info = json.loads(run("info", "--json").stdout)
    check(info["version"] == version and info["library"] == version, "version")
    parts = {(p["topic"], p["name"]): p for p in info["parts"]}
    check(parts[("engine", "null")]["usable"] and parts[("gpu", "emu")]["usable"], "engine null, backend emu")
    check(not parts[("engine", "dpdk")]["usable"] and parts[("gpu", "cuda")]["text"] == "GPUWIRE_GPU=emu", "reasons")
    check({o["name"] for o in info["options"]} >= {"CUDA", "ONEDNN", "CUDNN"}, "options")
    for p in info["parts"]:
        check(p["name"] in run("info").stdout, p["name"])


for case in (empty, processor, memory, interfaces, cards, drivers, words):
    case()
print(f"{failed} failures")
sys.exit(1 if failed else 0)
