/**
 * Random UUIDs, made at once. Version 7 begins with the time, so that neighbours in time are neighbours in an index:
 * each of this thread sorts behind the one before it, also where the clock goes back. They tell when they were made,
 * and so are no secrets.
 *
 * Effect's own maker stands under another name in each of the versions that are supported.
 */
import { randomBytes, randomUUID } from "node:crypto"

/** Nothing but chance. */
export const v4 = (): string => randomUUID()

let time = 0
/** Twelve bits behind the time, which count within a millisecond. */
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
