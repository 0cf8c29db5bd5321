/**
 * Tracks requeued items that are not finished, so that they can be saved with the cursor.
 *
 * Items form a tree: an item, its requeued items, theirs, and so on. One is open while it waits or is rolled out, and
 * until the service has its groups. Anything below an open item will be produced by it again, so only the topmost open
 * ones are saved. An item is not saved at all if one below it cannot be; it is then rolled out again, with the same
 * keys.
 */
import { Schema } from "effect"
import type { Work } from "../../Environment.ts"

/** By task path: the item's index, then one number per requeue. */
export const Saved = Schema.Array(
  Schema.Struct({ path: Schema.String.check(Schema.isPattern(/^\d{1,15}(?:\.\d{1,9})+$/)), item: Schema.Unknown })
)
export type Saved = typeof Saved.Type

export interface Requeued {
  /** An item is queued or in progress. */
  readonly open: (path: string, work: Pick<Work, "save">) => void
  /** It has another group, which the service will answer for by its key. */
  readonly hold: (path: string, key: string) => void
  /** It is rolled out or abandoned. */
  readonly release: (path: string) => void
  readonly answered: (key: string) => void
  /** Changes whenever the result of `save` may. */
  readonly version: () => number
  readonly save: () => Saved
}

interface Node {
  holds: number
  readonly work: Pick<Work, "save">
  /** JSON, computed on first use. */
  saved?: { readonly item: unknown; readonly size: number } | "none"
}

/** Max characters of JSON, which is saved every second; items beyond it are rolled out again instead. */
const maxCharacters = 4 * 2 ** 20

export const indexOf = (path: string): number => Number.parseInt(path, 10)

/** The path of the item that requeued this one; undefined for an item of the stream. */
const parentOf = (path: string): string | undefined => {
  const dot = path.lastIndexOf(".")
  return dot === -1 ? undefined : path.slice(0, dot)
}

/** The item as JSON, computed once. */
const savedOf = (node: Node): NonNullable<Node["saved"]> => {
  if (node.saved === undefined) {
    const item = node.work.save?.()
    node.saved = item === undefined ? "none" : { item, size: JSON.stringify(item).length }
  }
  return node.saved
}

export const make = (): Requeued => {
  const nodes = new Map<string, Node>()
  const pathOfKey = new Map<string, string>()
  let version = 0

  const release = (path: string): void => {
    const node = nodes.get(path)
    if (node === undefined || --node.holds > 0) return
    nodes.delete(path)
    version++
  }

  const isBelowOpen = (path: string): boolean => {
    for (let above = parentOf(path); above !== undefined; above = parentOf(above)) if (nodes.has(above)) return true
    return false
  }

  const save = (): Saved => {
    const byIndex = new Map<number, Array<{ readonly path: string; readonly item: unknown }>>()
    const lost = new Set<number>()
    let size = 0
    for (const [path, node] of nodes) {
      if (parentOf(path) === undefined || isBelowOpen(path)) continue
      const index = indexOf(path)
      const saved = savedOf(node)
      if (saved === "none" || size + saved.size > maxCharacters) {
        lost.add(index)
        continue
      }
      size += saved.size
      byIndex.set(index, [...(byIndex.get(index) ?? []), { path, item: saved.item }])
    }
    return Array.from(byIndex).flatMap(([index, entries]) => (lost.has(index) ? [] : entries))
  }

  return {
    open: (path, work) => {
      const node = nodes.get(path)
      if (node !== undefined) node.holds++
      else nodes.set(path, { holds: 1, work })
      version++
    },
    hold: (path, key) => {
      const node = nodes.get(path)
      if (node === undefined) return
      node.holds++
      pathOfKey.set(key, path)
    },
    release,
    answered: (key) => {
      const path = pathOfKey.get(key)
      if (path === undefined) return
      pathOfKey.delete(key)
      release(path)
    },
    version: () => version,
    save
  }
}
