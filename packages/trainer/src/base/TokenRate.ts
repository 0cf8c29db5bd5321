/** Tokens per second over the last ten seconds, in buckets of one second. */
const windowSeconds = 10

export class TokenRate {
  total = 0
  private readonly slots: Array<{ readonly second: number; tokens: number }> = []

  add(tokens: number, nowMillis: number): void {
    if (tokens === 0) return
    this.total += tokens
    const second = Math.floor(nowMillis / 1000)
    const last = this.slots.at(-1)
    if (last?.second === second) last.tokens += tokens
    else this.slots.push({ second, tokens })
    if (this.slots.length > windowSeconds + 1) this.slots.shift()
  }

  /** Divides by the elapsed time, of which the current bucket is a fraction. */
  perSecond(nowMillis: number): number {
    const start = nowMillis / 1000 - windowSeconds
    const recent = this.slots.filter(({ second }) => second >= start)
    const [first] = recent
    if (first === undefined) return 0
    const tokens = recent.reduce((sum, slot) => sum + slot.tokens, 0)
    return tokens / Math.max(1, nowMillis / 1000 - first.second)
  }
}
