/**
 * Writes a line synchronously to the standard output of a test's child process, so that it arrives before the process
 * is killed.
 */
import { writeSync } from "node:fs"

const isFull = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EAGAIN"

/** Retries while the pipe is full because its reader is busy. */
export const line = (text: string): void => {
  for (let left = Buffer.from(`${text}\n`); left.length > 0;) {
    try {
      left = left.subarray(writeSync(1, left))
    } catch (error) {
      if (!isFull(error)) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}
