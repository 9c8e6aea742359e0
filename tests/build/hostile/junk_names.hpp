// SPDX-License-Identifier: MIT
// Names that somebody's macros have taken before our headers come. Two words where one stands: any use is an
// error.
#pragma once

#define B0 junk junk
#define DEBUG junk junk
#define ERROR(text) junk junk
#define FAIL junk junk
#define I junk junk
#define It junk junk
#define N junk junk
#define OK junk junk
#define T junk junk
#define far junk junk
#define interface junk junk
#define near junk junk
#define small junk junk
