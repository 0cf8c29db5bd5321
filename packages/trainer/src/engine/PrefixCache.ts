/**
 * Keys and values of beginnings of prompts, so that a turn of a conversation costs its new tokens, and requests with
 * the same beginning share it.
 *
 * A tree over blocks of `blockTokens` tokens for each version of the weights. Prompts always go through the model in
 * these blocks and a rest, whether or not a block is known: so what is taken from here is, bit for bit, what would have
 * been computed. Only prompts fill it; sampled tokens come in with the prompt of the next turn. Beyond its memory, what
 * was not used for longest goes, ends of prompts before their beginnings.
 */
import type { KvCache } from "./KvCache.ts"
import type { KvShape } from "./KvShape.ts"

interface Block<V> {
  readonly version: V
  readonly siblings: Map<string, Block<V>>
  readonly key: string
  readonly depth: number
  /** [L, 2, KV, T, D], as a run of one row gives them. */
  readonly entries: Float32Array
  /** The experts that its tokens passed, where the model writes them down. */
  readonly experts: Int32Array | undefined
  readonly next: Map<string, Block<V>>
  usedAt: number
}

/** A block as a run of B rows gives it: entries [L, 2, B, KV, T, D], of which it is one row. */
interface Computed {
  readonly entries: Float32Array
  readonly row: number
  readonly rows: number
  /** Of this row. */
  readonly experts?: Int32Array | undefined
}

/** After an overflow so much is free. */
const freed = 1 / 8

export class PrefixCache<V> {
  readonly blockTokens: number
  private readonly capacity: number
  /** Of a block: keys, or values, of one layer. */
  private readonly partNumbers: number
  private readonly parts: number
  private readonly roots = new Map<V, Map<string, Block<V>>>()
  private readonly blocks = new Set<Block<V>>()
  private clock = 0

  constructor({ headDim, kvHeads, layers }: KvShape, blockTokens: number, maxBytes: number) {
    this.blockTokens = blockTokens
    this.partNumbers = kvHeads * headDim * blockTokens
    this.parts = 2 * layers
    this.capacity = Math.floor(maxBytes / this.blockBytes)
  }

  get bytes(): number {
    return this.blocks.size * this.blockBytes
  }

  private get blockBytes(): number {
    return 4 * this.parts * this.partNumbers
  }

  /**
   * Appends to row 0 of a cache, which holds whole blocks of the prompt, the blocks after them that are known: how many
   * tokens these are. The prompt's last token is never among them, since its logits are wanted. The experts of these
   * blocks are added to `experts`.
   */
  extend(version: V, prompt: ReadonlyArray<number>, cache: KvCache, experts: Array<Int32Array> = []): number {
    const { blockTokens } = this
    const before = cache.lengths[0]!
    if (before % blockTokens !== 0) return 0
    const now = ++this.clock
    let at = 0
    let level = this.roots.get(version)
    for (; level !== undefined && at + blockTokens < prompt.length; at += blockTokens) {
      const block: Block<V> | undefined = level.get(keyOf(prompt, at, blockTokens))
      if (block === undefined) break
      block.usedAt = now
      if (at >= before) {
        cache.append(0, block.entries, 0, 1, blockTokens, blockTokens)
        if (block.experts !== undefined) experts.push(block.experts)
      }
      level = block.next
    }
    return cache.lengths[0]! - before
  }

  /**
   * Keeps the block of a prompt that begins at `at`. Nothing is kept of a block whose beginning is gone.
   */
  keep(version: V, prompt: ReadonlyArray<number>, at: number, { entries, experts, row, rows }: Computed): void {
    if (this.capacity === 0) return
    const now = ++this.clock
    let level = this.roots.get(version)
    if (level === undefined) this.roots.set(version, (level = new Map()))
    for (let start = 0; start < at; start += this.blockTokens) {
      const block: Block<V> | undefined = level.get(keyOf(prompt, start, this.blockTokens))
      if (block === undefined) return
      block.usedAt = now
      level = block.next
    }
    const key = keyOf(prompt, at, this.blockTokens)
    if (level.has(key)) return
    const block = {
      version,
      siblings: level,
      key,
      depth: at,
      entries: this.ofRow(entries, row, rows),
      experts,
      next: new Map<string, Block<V>>(),
      usedAt: now
    }
    level.set(key, block)
    this.blocks.add(block)
    if (this.blocks.size > this.capacity) this.shrink()
  }

  /** Forgets what was computed with these weights. */
  drop(version: V): void {
    this.roots.delete(version)
    for (const block of this.blocks) if (block.version === version) this.blocks.delete(block)
  }

  /** Of [L, 2, B, KV, T, D] a copy of one row: [L, 2, KV, T, D]. */
  private ofRow(entries: Float32Array, row: number, rows: number): Float32Array {
    const { partNumbers, parts } = this
    const own = new Float32Array(parts * partNumbers)
    for (let part = 0; part < parts; part++) {
      const at = (part * rows + row) * partNumbers
      own.set(entries.subarray(at, at + partNumbers), part * partNumbers)
    }
    return own
  }

  /** A block is used no later than those it follows, so that its own followers go before it. */
  private shrink(): void {
    const oldest = [...this.blocks].toSorted((a, b) => a.usedAt - b.usedAt || b.depth - a.depth)
    const most = Math.floor(this.capacity * (1 - freed))
    for (const block of oldest.slice(0, this.blocks.size - most)) {
      block.siblings.delete(block.key)
      this.blocks.delete(block)
    }
  }
}

const keyOf = (prompt: ReadonlyArray<number>, at: number, count: number): string =>
  prompt.slice(at, at + count).join(" ")
