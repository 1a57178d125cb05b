/* Error words, log levels, soft devices and buffer windows. */
#include <stdio.h>

#include "base/alloc.h"
#include "doca/buf.h"
#include "doca/dev.h"
#include "doca/error.h"
#include "doca/log.h"
#include "t.h"

DOCA_LOG_REGISTER(TEST);

static void error_words(void)
{
	T_STR(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS");
	T_STR(doca_error_get_name(DOCA_ERROR_IN_PROGRESS), "DOCA_ERROR_IN_PROGRESS");
	T_EQ(DOCA_ERROR_IN_PROGRESS, 26);
	T_EQ(DOCA_ERROR_DEVICE_FATAL_ERROR, 31);
	T_STR(doca_error_get_name((doca_error_t)99), "DOCA_ERROR_UNKNOWN");
	for (int i = 0; i <= 31; i++) {
		T_OK(doca_error_get_name((doca_error_t)i) && doca_error_get_descr((doca_error_t)i));
		if (i > 1) /* every code but UNKNOWN survives the way there and back */
			T_EQ(gw__doca_from_errno(gw__doca_to_errno((doca_error_t)i)), i);
	}
	T_EQ(gw__doca_from_errno(0), DOCA_SUCCESS);
	T_EQ(gw__doca_from_errno(7), DOCA_SUCCESS);
	T_EQ(gw__doca_from_errno(-ECONNREFUSED), DOCA_ERROR_NOT_CONNECTED);
	T_EQ(gw__doca_from_errno(-EMFILE), DOCA_ERROR_OPERATING_SYSTEM);
	T_EQ(gw__doca_from_errno(-EXDEV), DOCA_ERROR_UNKNOWN);
	T_EQ(gw__doca_to_errno(DOCA_ERROR_UNKNOWN), -EIO);
}

static void log_levels(void)
{
	struct doca_log_backend *b, *s;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	T_NEED(f);
	DOCA_LOG_ERR("before the tap is open");
	T_EQ(doca_log_backend_create_with_file(NULL, &b), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_log_backend_create_with_file(f, &b), DOCA_SUCCESS);
	T_EQ(doca_log_backend_create_with_file_sdk(f, &s), DOCA_SUCCESS);
	T_EQ(doca_log_backend_create_standard(), DOCA_ERROR_ALREADY_EXIST);
	DOCA_LOG_DBG("too quiet");
	DOCA_LOG_INFO("program %d", 1);
	gw__doca_err("library silent by default");
	T_EQ(doca_log_backend_set_sdk_level(s, 5), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_log_backend_set_sdk_level(s, DOCA_LOG_LEVEL_INFO), DOCA_SUCCESS);
	gw__doca_info("library %d", 2);
	gw__doca_debug("library too quiet");
	fclose(f);
	T_HAS(text, "program 1");
	T_HAS(text, "[INF]");
	T_HAS(text, "library 2");
	T_OK(!strstr(text, "quiet") && !strstr(text, "silent") && !strstr(text, "before"));
	free(text);
	doca_log_level_set_global_sdk_limit(DOCA_LOG_LEVEL_DISABLE);
	doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_DISABLE);
}

static void devices(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	char name[64], pci[DOCA_DEVINFO_PCI_ADDR_SIZE];
	uint32_t n;
	uint8_t same;

	setenv("DOCA_SOFT_DEVICES", "mlx5_0@0000:04:00.0,eth7@rubbish", 1);
	T_EQ(doca_devinfo_create_list(&list, &n), DOCA_SUCCESS);
	T_NEED(n == 2);
	T_EQ(doca_devinfo_get_ibdev_name(list[1], name, sizeof(name)), DOCA_SUCCESS);
	T_STR(name, "eth7");
	T_EQ(doca_devinfo_get_ibdev_name(list[1], name, 4), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_devinfo_get_pci_addr_str(list[0], pci), DOCA_SUCCESS);
	T_STR(pci, "0000:04:00.0");
	T_EQ(doca_devinfo_is_equal_pci_addr(list[0], "04:00.0", &same), DOCA_SUCCESS);
	T_EQ(same, 1);
	T_EQ(doca_dev_open(list[0], &dev), DOCA_SUCCESS);
	doca_devinfo_destroy_list(list);
	gw__doca_dev_get(dev);
	T_EQ(doca_dev_close(dev), DOCA_ERROR_IN_USE);
	gw__doca_dev_put(dev);
	T_EQ(doca_dev_close(dev), DOCA_SUCCESS);

	setenv("DOCA_SOFT_PCI", "0000:af:00.1", 1);
	T_EQ(doca_dev_open_by_name("anything", &dev), DOCA_SUCCESS);
	doca_devinfo_get_pci_addr_str(doca_dev_as_devinfo(dev), pci);
	T_STR(pci, "0000:af:00.1");
	doca_dev_close(dev);
	unsetenv("DOCA_SOFT_DEVICES");
	unsetenv("DOCA_SOFT_PCI");
	T_EQ(doca_dev_open_by_name("mlx5_0", &dev), DOCA_SUCCESS);
	doca_devinfo_get_pci_addr_str(doca_dev_as_devinfo(dev), pci);
	T_STR(pci, "0000:03:00.0");
	doca_dev_close(dev);
	T_EQ(doca_dev_open_by_name("", &dev), DOCA_ERROR_INVALID_VALUE);

	for (long k = 1; k <= 1; k++) {
		long live = gw__alloc_live();

		gw__alloc_fail_at(k);
		T_EQ(doca_dev_open_by_name("x", &dev), DOCA_ERROR_NO_MEMORY);
		gw__alloc_fail_at(k);
		T_EQ(doca_devinfo_create_list(&list, &n), DOCA_ERROR_NO_MEMORY);
		gw__alloc_fail_at(0);
		T_EQ(gw__alloc_live(), live);
	}
}

static void buffers(void)
{
	unsigned char room[64], *mem = room + 16;
	struct doca_buf b;
	void *p;
	size_t n;
	uint16_t refs;

	gw__doca_buf_init(&b, mem, 32, 10);
	T_EQ(doca_buf_get_data_len(&b, &n), DOCA_SUCCESS);
	T_EQ(n, 10);
	T_EQ(doca_buf_set_data(&b, mem + 8, 24), DOCA_SUCCESS);
	T_EQ(doca_buf_set_data(&b, mem + 8, 25), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_buf_set_data(&b, mem - 1, 1), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_buf_set_data(&b, mem + 33, 0), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_buf_set_data(&b, mem + 8, SIZE_MAX), DOCA_ERROR_INVALID_VALUE);
	T_EQ(doca_buf_get_data(&b, &p), DOCA_SUCCESS);
	T_OK(p == mem + 8);
	T_EQ(doca_buf_get_len(&b, &n), DOCA_SUCCESS);
	T_EQ(n, 32);
	T_EQ(doca_buf_reset_data_len(&b), DOCA_SUCCESS);
	T_EQ(doca_buf_get_head(&b, &p), DOCA_SUCCESS);
	T_OK(p == mem && b.data == mem && b.data_len == 0);
	T_EQ(doca_buf_dec_refcount(&b, NULL), DOCA_ERROR_NOT_PERMITTED);
	T_EQ(doca_buf_inc_refcount(&b, &refs), DOCA_SUCCESS);
	T_EQ(refs, 1);
	T_EQ(doca_buf_dec_refcount(&b, &refs), DOCA_SUCCESS);
	T_EQ(doca_buf_get_refcount(&b, &refs), DOCA_SUCCESS);
	T_EQ(refs, 1);
}

int main(void)
{
	error_words();
	log_levels();
	devices();
	buffers();
	T_DONE();
}
