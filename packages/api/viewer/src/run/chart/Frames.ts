/**
 * Work that is spread over frames of the browser: each frame takes what is asked for, oldest first, until its share of
 * the frame is used up; the rest of the frame is the browser's, which paints what was drawn. A piece of work asked for
 * again before its turn is done once.
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
