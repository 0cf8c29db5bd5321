/**
 * Where in its author's files something was thrown: the frames of a stack that are neither ours, nor Effect's, nor
 * Node's.
 */
import { relative } from "node:path"
import { fileURLToPath } from "node:url"

const core = new URL("../", import.meta.url).href

const location = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).*?):(\d+):(\d+)\)?$/
/** What Node puts before the stack of a file that it cannot read as a program. */
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

/** The first such frame as `my-env.ts:13:5`, from the working folder; undefined where there is none. */
export const place = (stack: string): string | undefined => {
  const lines = stack.split("\n")
  const [, unread, at] = heading.exec(lines[0] ?? "") ?? []
  if (unread !== undefined) return `${near(unread)}:${at}`
  const frame = lines.find((line) => isFrame(line) && isOwn(line))
  const [, file, line, column] = (frame && location.exec(frame)) ?? []
  return file === undefined ? undefined : `${near(file)}:${line}:${column}`
}

/** The stack with its author's frames alone; all of it where there are none. */
export const trimmed = (stack: string): string => {
  const lines = stack.split("\n")
  const own = lines.filter((line) => isFrame(line) && isOwn(line))
  return own.length === 0 ? stack : lines.filter((line) => !isFrame(line) || isOwn(line)).join("\n")
}
