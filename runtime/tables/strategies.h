#pragma once

/// How the ranks of a topology work together; each divides more than the one before. The compiler reads this table, too.
/// `ROW(Enumerator, name)` for each, with `BETWEEN` between two.
#define LTR_STRATEGIES(ROW, BETWEEN) \
  ROW(Single, single)                \
  BETWEEN ROW(Ddp, ddp)              \
  BETWEEN ROW(Zero1, zero1)          \
  BETWEEN ROW(Zero2, zero2)          \
  BETWEEN ROW(Fsdp, fsdp)            \
  BETWEEN ROW(Hsdp, hsdp)

#define LTR_STRATEGY_NAME(Enumerator, name) #name
/// The type of the setting `strategy`, as `.ltr` writes it.
#define LTR_STRATEGY_TYPE "one_of[" LTR_STRATEGIES(LTR_STRATEGY_NAME, ", ") "]"
