/* The defaults that keep others out: users, keys, plugin files, environment, binding; each refusal once in
 * the log. Parts that need root to change users are skipped without it. */
#include <sys/prctl.h>

#include "group.h"
#include "raw.h"

static void copy_plugin(const char *dir, const char *as)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "cp '%s/worker_graph.so' '%s/%s'", getenv("UROM_PLUGINS"), dir, as);
	T_EQ(system(cmd), 0);
}

/* Which plugins does this daemon offer? " name name" */
static const char *offered(const struct fixture *f)
{
	static char names[512];
	const struct doca_urom_service_plugin_info *list;
	struct urom_session s;
	size_t n = 0;

	names[0] = '\0';
	setenv("DOCA_UROM_ENDPOINT", f->endpoint, 1);
	if (urom_session_open(&s, "mlx5_0", 2, 4096) != DOCA_SUCCESS)
		return "no session";
	doca_urom_service_get_plugins_list(s.service, &list, &n);
	for (size_t i = 0; i < n; i++) {
		strcat(names, " ");
		strcat(names, list[i].plugin_name);
	}
	urom_session_close(&s);
	return names;
}

static void plugin_files(void)
{
	struct fixture f = { 0 };
	char dir[] = "/tmp/urom-p-XXXXXX", path[128], link[128], manifest[128], cmd[512];
	const char *extra[] = { "--manifest", manifest, NULL };

	T_NEED(mkdtemp(dir));
	copy_plugin(dir, "good.so");
	copy_plugin(dir, "group_writable.so");
	copy_plugin(dir, "Upper.so");
	copy_plugin(dir, "real_thing.txt");
	snprintf(path, sizeof(path), "%s/group_writable.so", dir);
	T_EQ(chmod(path, 0664), 0);
	snprintf(path, sizeof(path), "%s/real_thing.txt", dir);
	snprintf(link, sizeof(link), "%s/linked.so", dir);
	T_EQ(symlink(path, link), 0);
	T_NEED(fixture_start(&f, NULL, dir, NULL));
	T_STR(offered(&f), " good");
	T_STR(offered(&f), " good"); /* looked at again: logged once all the same */
	T_EQ(fixture_logged(&f, "linked.so: a symbolic link is not accepted"), 1);
	T_EQ(fixture_logged(&f, "group_writable.so: uid"), 1);
	T_EQ(fixture_logged(&f, "Upper.so: its name is not"), 1);
	/* a new file is seen by the next host, a vanished one is gone */
	copy_plugin(dir, "later.so");
	snprintf(path, sizeof(path), "%s/good.so", dir);
	unlink(path);
	T_STR(offered(&f), " later");
	fixture_clean(&f);

	/* a manifest: only what it lists, only with these bytes */
	snprintf(manifest, sizeof(manifest), "%s/manifest", dir);
	copy_plugin(dir, "good.so");
	copy_plugin(dir, "forged.so");
	snprintf(cmd, sizeof(cmd), "cd '%s' && sha256sum good.so forged.so > manifest && printf x >> forged.so", dir);
	T_EQ(system(cmd), 0);
	T_NEED(fixture_start(&f, NULL, dir, extra));
	T_STR(offered(&f), " good");
	T_EQ(fixture_logged(&f, "forged.so: not in the manifest"), 1);
	T_EQ(fixture_logged(&f, "later.so: not in the manifest"), 1);
	fixture_clean(&f);

	/* a directory that others may write: nothing of it */
	T_EQ(chmod(dir, 0777), 0);
	T_NEED(fixture_start(&f, NULL, dir, NULL));
	T_STR(offered(&f), "");
	T_EQ(fixture_logged(&f, "must be ours or root's"), 1);
	fixture_clean(&f);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	T_EQ(system(cmd), 0);
}

/* A child of another user; its exit code says how the greeting went: 0 in, 1 refused with a name, 2 no socket. */
static int as_user(uid_t uid, const char *endpoint)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct gw_diag why = { .text = "" };
		struct gw__dial d;

		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(9);
		if (raw_greet(&d, endpoint, GW__ROLE_HOST, NULL, &why))
			_exit(0);
		_exit(strstr(why.text, "not allowed") ? 1 : 2);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void users(void)
{
	static const char *const allow[] = { "--allow-uid", "65533", NULL };
	struct fixture f = { 0 };
	struct stat st;

	T_NEED(fixture_start(&f, NULL, NULL, NULL));
	T_EQ(stat(f.endpoint + 5, &st), 0);
	T_EQ(st.st_mode & 0777, 0600);
	if (geteuid() == 0) {
		T_EQ(as_user(65534, f.endpoint), 2); /* file rights already stop it */
		chmod(f.dir, 0755);
		chmod(f.endpoint + 5, 0666); /* and if they did not, the kernel's word does */
		for (int i = 0; i < 3; i++)
			T_EQ(as_user(65534, f.endpoint), 1);
		T_EQ(fixture_logged(&f, "uid 65534 is not allowed"), 1);
		fixture_stop(&f, SIGTERM);
		T_NEED(fixture_start(&f, f.endpoint, NULL, allow));
		chmod(f.dir, 0755);
		T_EQ(as_user(65533, f.endpoint), 0);
		T_EQ(as_user(65534, f.endpoint), 1);
	} else {
		printf("(users: not root, one user only)\n");
	}
	fixture_clean(&f);
}

static void keys(void)
{
	char dir[] = "/tmp/urom-k-XXXXXX", key[64], other[64];
	const char *extra[] = { "--key-file", key, NULL };
	struct fixture f = { 0 };
	struct gw_diag why;
	struct gw__key k;
	struct gw__dial d;
	FILE *o;

	T_NEED(mkdtemp(dir));
	snprintf(key, sizeof(key), "%s/key", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	umask(077);
	o = fopen(key, "w");
	fputs("a key of more than sixteen bytes", o);
	fclose(o);
	o = fopen(other, "w");
	fputs("another key, as long as the first", o);
	fclose(o);
	umask(022);
	/* beyond loopback: only with a key */
	T_OK(!fixture_start(&f, "tcp:0.0.0.0:", NULL, NULL));
	T_EQ(fixture_logged(&f, "only with a key"), 1);
	T_NEED(fixture_start(&f, "tcp:0.0.0.0:", NULL, extra));
	snprintf(f.endpoint, sizeof(f.endpoint), "tcp:127.0.0.1:%d", 20000 + (int)getpid() % 12000);
	T_OK(!raw_greet(&d, f.endpoint, GW__ROLE_HOST, NULL, &why));
	T_HAS(why.text, "asks for a key");
	T_RC(gw__key_load(other, &k, &why), 0);
	for (int i = 0; i < 3; i++) {
		T_OK(!raw_greet(&d, f.endpoint, GW__ROLE_HOST, &k, &why));
		T_HAS(why.text, "wrong key");
	}
	T_EQ(fixture_logged(&f, "wrong key"), 1);
	setenv("UROM_KEY_FILE", key, 1);
	T_HAS(offered(&f), "worker_graph");
	unsetenv("UROM_KEY_FILE");
	fixture_clean(&f);
	unlink(key);
	unlink(other);
	rmdir(dir);
}

/* What a worker process looks like from outside. */
static void sandboxing(void)
{
	struct fixture f = { 0 };
	struct urom_session s;
	struct urom_worker_spec spec = { .id = 1 };
	struct doca_urom_worker *w;
	char path[64], line[256];
	uint64_t version;
	bool nnp = false;
	pid_t kid = 0;
	FILE *in;
	int n_fds = 0;
	DIR *d;

	T_NEED(fixture_start(&f, NULL, NULL, NULL));
	setenv("DOCA_UROM_ENDPOINT", f.endpoint, 1);
	T_NEED(urom_session_open(&s, "mlx5_0", 2, 4096) == DOCA_SUCCESS);
	T_NEED(urom_find_plugin(&s, "worker_graph", &spec.plugins, &version) == DOCA_SUCCESS);
	T_NEED(urom_worker_open(s.service, s.pe, &spec, &w) == DOCA_SUCCESS);
	T_EQ(children_of(f.pid, &kid, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/status", kid);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		nnp |= !strncmp(line, "NoNewPrivs:\t1", 13);
	fclose(in);
	T_OK(nnp);
	snprintf(path, sizeof(path), "/proc/%d/limits", kid);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, "Max core file size", 18))
			T_HAS(line, " 0 ");
	fclose(in);
	/* nothing inherited: std, control, stats, epoll, client and its bells */
	snprintf(path, sizeof(path), "/proc/%d/fd", kid);
	d = opendir(path);
	while (d && readdir(d))
		n_fds++;
	T_OK(d && n_fds <= 2 + 10);
	if (d)
		closedir(d);
	urom_worker_close(s.pe, w);
	urom_session_close(&s);
	fixture_clean(&f);
}

int main(void)
{
	umask(022);
	plugin_files();
	users();
	keys();
	sandboxing();
	T_DONE();
}
