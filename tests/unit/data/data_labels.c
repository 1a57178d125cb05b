/* Label sidecars: ours, the tutorial's bare form, names, hostile lines, allocation failures. */
#include "base/alloc.h"
#include "data/labels.h"
#include "data_files.h"

static int read_text(const char *text, struct gw__labels *out, struct gw_diag *diag)
{
	df_save("x.labels", text, strlen(text));
	return gw__labels_read(df_path("x.labels"), out, diag);
}

static void good(void)
{
	struct gw__labels l;
	char *path;

	T_RC(read_text("3\n0\r\n 2 \n# a remark\n# data set: things\nred\n\ngreen apple\nblue\nblack\n9\n", &l, NULL), 0);
	T_EQ(l.n_images, 3);
	T_EQ(l.cls[1], 0);
	T_EQ(l.cls[2], 2);
	T_STR(l.dataset, "things");
	T_EQ(l.n_classes, 5);
	T_STR(l.class_names[1], "green apple");
	T_STR(l.class_names[4], "9"); /* after the first line that is no integer all are names */
	gw__labels_fini(&l);
	T_RC(read_text("6\n9", &l, NULL), 0); /* the tutorial's form */
	T_EQ(l.n_classes, 10);
	T_STR(l.class_names[6], "frog");
	T_STR(l.dataset, "cifar10 (assumed)");
	gw__labels_fini(&l);
	T_RC(read_text("6\n12\n", &l, NULL), 0);
	T_EQ(l.n_classes, 13);
	T_STR(l.class_names[12], "12");
	T_STR(l.dataset, "unnamed");
	gw__labels_fini(&l);
	T_RC(read_text("4\nonly one name\n", &l, NULL), 0);
	T_EQ(l.n_classes, 5);
	T_STR(l.class_names[0], "only one name");
	T_STR(l.class_names[4], "4");
	gw__labels_fini(&l);
	gw__labels_fini(&l);
	path = gw__labels_path("a/b.pcap");
	T_STR(path, "a/b.labels");
	gw__free(path);
	path = gw__labels_path("b.pcapng");
	T_STR(path, "b.pcapng.labels");
	gw__free(path);
	path = gw__labels_path(".pcap");
	T_STR(path, ".pcap.labels");
	gw__free(path);
}

static void refused(const char *text, const char *part)
{
	struct gw__labels l = { 0 };
	struct gw_diag diag = { "" };

	T_RC(read_text(text, &l, &diag), -EPROTO);
	T_HAS(diag.text, part);
	T_OK(!l.cls);
	T_EQ(gw__alloc_live(), 0);
}

static void bad(void)
{
	char line[600];
	struct gw__labels l;
	struct gw_diag diag;

	refused("", "no label");
	refused("frog\n1\n", "no label");
	refused("1\n-2\n", "x.labels:2: class -2");
	refused("10000\n", "class 10000");
	refused("99999999999999999999999\n", "class 999");
	memset(line, 'a', sizeof(line) - 1);
	line[0] = '1';
	line[1] = '\n';
	line[sizeof(line) - 1] = 0;
	refused(line, "x.labels:2: longer");
	T_RC(gw__labels_read(df_path("none.labels"), &l, &diag), -ENOENT);
	T_HAS(diag.text, "none.labels");
	T_RC(gw__labels_read(df_root, &l, &diag), -EIO); /* a folder */
}

static void allocations(void)
{
	struct gw__labels l;
	struct gw_diag diag;

	for (long k = 1;; k++) {
		int rc;

		gw__alloc_fail_at(k);
		rc = read_text("1\n2\n# data set: d\na\nb\n", &l, &diag);
		gw__alloc_fail_at(0);
		if (!rc)
			break;
		T_NEED(k < 50);
		T_RC(rc, -ENOMEM);
		T_EQ(gw__alloc_live(), 0);
	}
	gw__labels_fini(&l);
	gw__alloc_fail_at(1);
	T_OK(!gw__labels_path("a.pcap"));
	gw__alloc_fail_at(0);
}

int main(void)
{
	df_begin();
	good();
	bad();
	allocations();
	df_end();
	T_EQ(gw__alloc_live(), 0);
	T_DONE();
}
