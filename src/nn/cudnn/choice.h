/* nn/cudnn/choice.h: which engine was the fastest, kept in a text file: one line a convolution.
 * A choice names a place in the list that the same library gives on the same card, so the file's name carries
 * both. Must not know cuDNN. */
#ifndef GW_NN_CUDNN_CHOICE_H
#define GW_NN_CUDNN_CHOICE_H

/* The choice for a key, in [0, n); -1 = not there. path may be NULL. The last line of a key wins. */
int gw__choice_get(const char *path, const char *key, int n);
/* Append. A file that cannot be written costs only the next start's time: logged once, not an error. */
void gw__choice_put(const char *path, const char *key, int choice, double us);

#endif
