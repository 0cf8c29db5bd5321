/**
 * Caches keys and values of prompt prefixes, so that a turn of a conversation only computes its new tokens, and
 * requests share prefixes.
 *
 * A tree over blocks of `blockTokens` tokens per version of the weights. Prompts are always prefilled in these blocks,
 * so cached entries are bit-identical to recomputed ones. Only prompts fill it. Eviction is least recently used, ends
 * of prompts before their beginnings.
 */
import type { KvCache } from "./KvCache.ts"
import type { KvShape } from "./KvShape.ts"

interface Block<V> {
  readonly version: V
  readonly siblings: Map<string, Block<V>>
  readonly key: string
  readonly depth: number
  /** [L, 2, KV, T, D], as computed by a run of one row. */
  readonly entries: Float32Array
  /** The experts of its tokens, if the model records them. */
  readonly experts: Int32Array | undefined
  readonly next: Map<string, Block<V>>
  usedAt: number
}

/** A block in the output of a run of B rows: entries [L, 2, B, KV, T, D], and its row. */
interface Computed {
  readonly entries: Float32Array
  readonly row: number
  readonly rows: number
  readonly experts?: Int32Array | undefined
}

/** Share of capacity that eviction frees. */
const freed = 1 / 8

export class PrefixCache<V> {
  readonly blockTokens: number
  private readonly capacity: number
  /** Numbers per block, in the keys or values of one layer. */
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
   * Appends the known next blocks of the prompt to row 0 of a cache, which must hold whole blocks of it; returns their
   * number of tokens. Never includes the prompt's last token, whose logits are needed. The blocks' experts are added to
   * `experts`.
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

  /** Stores the block of a prompt that starts at `at`. Not stored if a block before it is no longer cached. */
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

  drop(version: V): void {
    this.roots.delete(version)
    for (const block of this.blocks) if (block.version === version) this.blocks.delete(block)
  }

  /** Copies one row of [L, 2, B, KV, T, D]: [L, 2, KV, T, D]. */
  private ofRow(entries: Float32Array, row: number, rows: number): Float32Array {
    const { partNumbers, parts } = this
    const own = new Float32Array(parts * partNumbers)
    for (let part = 0; part < parts; part++) {
      const at = (part * rows + row) * partNumbers
      own.set(entries.subarray(at, at + partNumbers), part * partNumbers)
    }
    return own
  }

  /** A block's last use is no later than its prefix's, so it is evicted first. */
  private shrink(): void {
    const oldest = [...this.blocks].toSorted((a, b) => a.usedAt - b.usedAt || b.depth - a.depth)
    const max = Math.floor(this.capacity * (1 - freed))
    for (const block of oldest.slice(0, this.blocks.size - max)) {
      block.siblings.delete(block.key)
      this.blocks.delete(block)
    }
  }
}

const keyOf = (prompt: ReadonlyArray<number>, at: number, count: number): string =>
  prompt.slice(at, at + count).join(" ")
