/**
 * Finds the lines of a growing file part by part, and reads their bytes. Lines count from 1; a last line without a line
 * break counts once it is complete. A file that shrinks or is replaced is scanned again. All calls are synchronous, for
 * use in a separate thread.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"

export interface FoundLine {
  readonly number: number
  /** Its first byte, and its length without the line break. */
  readonly start: number
  readonly bytes: number
}

export interface Part {
  readonly lines: ReadonlyArray<FoundLine>
  /** True if another part can be read immediately. */
  readonly hasMore: boolean
  /** Previous lines are void: the file was replaced or truncated. */
  readonly isAnew: boolean
}

export interface LineFile {
  readonly path: string
  /** The lines of the next part, some MB of them. */
  readonly next: () => Part
  /** Bytes of a range; fewer at the end of the file. */
  readonly bytes: (start: number, length: number) => Uint8Array
  /** Last modification, milliseconds since the epoch. */
  readonly writtenAt: () => number
  /** Number of an incomplete last line that did not grow between two scans; returned once. */
  readonly abandoned: () => number | undefined
  readonly close: () => void
}

/** Longer lines are not read. */
export const maxLineBytes = 64 * 1024 * 1024

const chunkBytes = 1024 * 1024
const chunksPerPart = 16
const newline = 0x0a

/** `isWhole` decides if the bytes at the end of the file are a complete line despite the missing line break. */
export const open = (path: string, isWhole: (bytes: Uint8Array) => boolean): LineFile => {
  let descriptor = openSync(path, "r")
  let inode = fstatSync(descriptor).ino
  /** Bytes and lines scanned. */
  let offset = 0
  let count = 0
  /** The last line had no line break, so the next bytes may be just that. */
  let isOpenEnded = false
  /** File size when its end was incomplete; number of scans that found it so. */
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

  /** Lines from `offset` on, up to the end of a part. */
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
