/**
 * A file of lines that may grow: where its lines are, found part by part, and their bytes.
 *
 * Lines count from 1. The end of a file without a line break is a line once it is whole; until then somebody may be
 * writing it. A file that was shortened, or whose name another one has now, is begun anew. Everything is done at once,
 * for a thread of its own.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"

export interface FoundLine {
  readonly number: number
  /** Its first byte, and how many it has without its line break. */
  readonly start: number
  readonly bytes: number
}

export interface Part {
  readonly lines: ReadonlyArray<FoundLine>
  /** Whether it is worth looking again at once. */
  readonly hasMore: boolean
  /** What was found before is void: this is another file, or a shorter one. */
  readonly isAnew: boolean
}

export interface LineFile {
  readonly path: string
  /** The lines of the next part, some MB of them. */
  readonly next: () => Part
  /** Some bytes; fewer where the file ends. */
  readonly bytes: (start: number, length: number) => Uint8Array
  /** When it was last written, milliseconds since the epoch. */
  readonly writtenAt: () => number
  /** Number of the line at the end that is not whole, where nobody went on with it between two looks; told once. */
  readonly abandoned: () => number | undefined
  readonly close: () => void
}

/** Longer lines are not read. */
export const maxLineBytes = 64 * 1024 * 1024

const chunkBytes = 1024 * 1024
const chunksPerPart = 16
const newline = 0x0a

/** `isWhole` tells of the bytes at the end of the file whether they are a line, though no line break follows. */
export const open = (path: string, isWhole: (bytes: Uint8Array) => boolean): LineFile => {
  let descriptor = openSync(path, "r")
  let inode = fstatSync(descriptor).ino
  /** Bytes and lines that were looked through. */
  let offset = 0
  let count = 0
  /** The last line had no line break: what comes next may be that alone. */
  let isOpenEnded = false
  /** Size of the file when its end was no line; how often it was found so. */
  let unfinishedSize = -1
  let unfinishedLooks = 0

  const bytes: LineFile["bytes"] = (start, length) => {
    const found = new Uint8Array(length)
    let read = 0
    while (read < length) {
      const some = readSync(descriptor, found, read, length - read, start + read)
      if (some === 0) break
      read += some
    }
    return found.subarray(0, read)
  }

  const isReplaced = (): boolean => {
    const now = statSync(path, { throwIfNoEntry: false })
    if (now === undefined || now.ino === inode) return fstatSync(descriptor).size < offset
    closeSync(descriptor)
    descriptor = openSync(path, "r")
    inode = now.ino
    return true
  }

  /** Lines from `offset` on, until some part of the file is done. */
  const cut = (size: number): ReadonlyArray<FoundLine> => {
    const lines: Array<FoundLine> = []
    const end = offset + chunksPerPart * chunkBytes
    for (let at = offset; at < size && (at < end || lines.length === 0);) {
      const chunk = bytes(at, Math.min(chunkBytes, size - at))
      if (chunk.length === 0) break
      for (let position = 0; ;) {
        const next = chunk.indexOf(newline, position)
        if (next < 0) break
        lines.push({ number: ++count, start: offset, bytes: at + next - offset })
        position = next + 1
        offset = at + position
      }
      at += chunk.length
    }
    return lines
  }

  const next = (): Part => {
    const isAnew = isReplaced()
    if (isAnew) {
      offset = 0
      count = 0
      isOpenEnded = false
      unfinishedSize = -1
    }
    const { size } = fstatSync(descriptor)
    const part = (lines: ReadonlyArray<FoundLine>, hasMore: boolean): Part => ({ lines, hasMore, isAnew })
    if (size <= offset) return part([], false)
    if (size === unfinishedSize) {
      unfinishedLooks++
      return part([], false)
    }
    if (isOpenEnded) {
      isOpenEnded = false
      if (bytes(offset, 1)[0] === newline) offset++
    }
    const lines = cut(size)
    if (lines.length > 0) return part(lines, true)
    const rest = size - offset
    if (rest > 0 && rest <= maxLineBytes && isWhole(bytes(offset, rest))) {
      const line: FoundLine = { number: ++count, start: offset, bytes: rest }
      offset = size
      isOpenEnded = true
      return part([line], false)
    }
    unfinishedSize = size
    unfinishedLooks = 0
    return part([], false)
  }

  return {
    path,
    next,
    bytes,
    writtenAt: () => Math.floor(fstatSync(descriptor).mtimeMs),
    abandoned: () => (unfinishedSize > offset && unfinishedLooks === 1 ? count + 1 : undefined),
    close: () => closeSync(descriptor)
  }
}
