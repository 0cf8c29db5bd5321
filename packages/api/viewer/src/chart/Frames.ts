/**
 * Spreads work over animation frames: each frame runs requested work, oldest first, until its time budget is used up.
 * Work requested again before its turn runs once.
 */
const budgetMillis = 3

const waiting = new Set<() => void>()
let frame: number | null = null

const turn = (): void => {
  const end = performance.now() + budgetMillis
  for (const work of waiting) {
    waiting.delete(work)
    work()
    if (performance.now() >= end) break
  }
  frame = waiting.size === 0 ? null : requestAnimationFrame(turn)
}

export const request = (work: () => void): void => {
  waiting.add(work)
  frame ??= requestAnimationFrame(turn)
}

export const cancel = (work: () => void): void => void waiting.delete(work)
