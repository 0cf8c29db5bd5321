/**
 * When to evaluate: at every multiple of `steps_per_eval` that the trainer's step reaches or passes.
 *
 * The original compares remainders (`a mod N > b mod N`), which never fires for N = 1 and misses multiples when the
 * step jumps.
 */

/** Whether a multiple of `every` lies in (previous, step]; never where `every` is 0 or less. */
export const isDue = (previous: number, step: number, every: number): boolean =>
  every > 0 && Math.floor(step / every) > Math.floor(previous / every)
