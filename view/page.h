/* page.h: the output of scripts/embed.c: the files of the page. */

#ifndef PELT_VIEW_PAGE_H
#define PELT_VIEW_PAGE_H

#include "view/view.h"

extern const size_t pelt_page_file_count;
extern const pelt_page_file pelt_page_files[];

#endif
