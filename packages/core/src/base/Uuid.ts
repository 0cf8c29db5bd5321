/**
 * Synchronous random UUIDs. Version 7 begins with the time, which keeps index inserts local: each one of this thread
 * sorts after the previous one, even if the clock goes back. They reveal when they were made, so
 * they must not be used as secrets.
 *
 * Effect's own generator has different names in the supported versions.
 */
import { randomBytes, randomUUID } from "node:crypto"

/** Fully random. */
export const v4 = (): string => randomUUID()

let time = 0
/** Twelve bits after the time, counting within a millisecond. */
let count = 0

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

export const v7 = (): string => {
  const now = Date.now()
  const random = randomBytes(10)
  count += 1
  if (now > time || count > 0xfff) {
    time = Math.max(now, time + 1)
    count = random.readUInt16BE(8) & 0x7ff
  }
  random[0] = (random[0]! & 0x3f) | 0x80
  const tail = random.toString("hex", 0, 8)
  const head = hex(time, 12)
  return `${head.slice(0, 8)}-${head.slice(8)}-7${hex(count, 3)}-${tail.slice(0, 4)}-${tail.slice(4)}`
}
