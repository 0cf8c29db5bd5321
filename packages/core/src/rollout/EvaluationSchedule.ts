/**
 * Decides when to evaluate: at every multiple of `steps_per_eval` that the trainer's step reaches or passes.
 *
 * The original compares remainders (`a mod N > b mod N`), which never fires for N = 1 and misses multiples if the step
 * jumps.
 */

/** True if a multiple of `every` lies in (previous, step]; never if `every` is 0 or less. */
export const isDue = (previous: number, step: number, every: number): boolean =>
  every > 0 && Math.floor(step / every) > Math.floor(previous / every)
