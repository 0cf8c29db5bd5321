/** Finds programs as a shell does: the first executable file of that name in the folders of `PATH`. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, join } from "node:path"

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** The file of a program; undefined if no folder has it. */
export const find = (name: string, path: string = process.env["PATH"] ?? ""): string | undefined =>
  path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isExecutable)
