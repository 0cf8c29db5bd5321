/**
 * Tracks every group by the number in its tokens, from its submission to the batch that was trained on.
 *
 * A group counts as stored once its submission was answered, and as trained on once its batch's ack was. Every answered
 * group must be trained on exactly once; the ledger checks this against all batches ever delivered.
 */
export class Ledger {
  private readonly answered = new Set<number>()
  private readonly batchOf = new Map<number, string>()
  private readonly acked = new Map<string, ReadonlyArray<number>>()
  private readonly wrong: Array<string> = []
  sent = 0
  /** Batches delivered more than once, which happens if a claim's answer was lost or its lease ran out. */
  handedOutAgain = 0
  trained = 0

  next(): number {
    return ++this.sent
  }

  stored(group: number): void {
    this.answered.add(group)
  }

  handedOut(batch: string, groups: ReadonlyArray<number>): void {
    const isAgain = groups.some((group) => this.batchOf.get(group) === batch)
    if (isAgain) this.handedOutAgain++
    if (this.acked.has(batch)) this.wrong.push(`batch ${batch} was handed out after it was acked`)
    if (new Set(groups).size < groups.length) this.wrong.push(`batch ${batch} has a group twice`)
    for (const group of groups) {
      const before = this.batchOf.get(group)
      if (before !== undefined && before !== batch)
        this.wrong.push(`group ${group} is in batches ${before} and ${batch}`)
      if (group > this.sent) this.wrong.push(`group ${group} of batch ${batch} was never sent`)
      this.batchOf.set(group, batch)
    }
  }

  ackedBatch(batch: string, groups: ReadonlyArray<number>): void {
    this.acked.set(batch, groups)
    this.trained += groups.length
  }

  get stores(): number {
    return this.answered.size
  }

  /** Violations; empty if every answered group was trained on exactly once. */
  problems(): ReadonlyArray<string> {
    const trained = new Set(Array.from(this.acked.values()).flat())
    const lost = Array.from(this.answered).filter((group) => !trained.has(group))
    return [
      ...this.wrong,
      ...(lost.length === 0 ? [] : [`${lost.length} answered groups were not trained on, such as ${lost[0]}`]),
      ...(trained.size === this.trained ? [] : [`${this.trained - trained.size} groups were trained on twice`])
    ]
  }
}
