/** Locates a throw in its author's files: the stack frames that are neither ours, nor Effect's, nor Node's. */
import { relative } from "node:path"
import { fileURLToPath } from "node:url"

const core = new URL("../", import.meta.url).href

const location = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).*?):(\d+):(\d+)\)?$/
/** Node's line before the stack for a file that it cannot parse. */
const heading = /^(file:\/\/.*):(\d+)$/

const isOwn = (frame: string): boolean => {
  const file = location.exec(frame)?.[1]
  return file !== undefined && !/[\\/]node_modules[\\/]/.test(file) && !file.startsWith(core)
}

const isFrame = (line: string): boolean => /^\s+at /.test(line)

const near = (file: string): string => {
  const path = file.startsWith("file://") ? fileURLToPath(file) : file
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith("..") ? path : fromHere
}

/** The first such frame as `my-env.ts:13:5`, relative to the working folder; undefined if none. */
export const place = (stack: string): string | undefined => {
  const lines = stack.split("\n")
  const [, unread, at] = heading.exec(lines[0] ?? "") ?? []
  if (unread !== undefined) return `${near(unread)}:${at}`
  const frame = lines.find((line) => isFrame(line) && isOwn(line))
  const [, file, line, column] = (frame && location.exec(frame)) ?? []
  return file === undefined ? undefined : `${near(file)}:${line}:${column}`
}

/** The stack with only its author's frames; all of it if none. */
export const trimmed = (stack: string): string => {
  const lines = stack.split("\n")
  const own = lines.filter((line) => isFrame(line) && isOwn(line))
  return own.length === 0 ? stack : lines.filter((line) => !isFrame(line) || isOwn(line)).join("\n")
}
