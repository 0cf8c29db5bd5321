/**
 * Finds the files of rows that a path names: a file itself; a folder with the files of one split, in the layout of
 * Hugging Face data sets (`data/train-00000-of-00002.parquet`, `train.jsonl`); or a split of a folder (`FOLDER/train`).
 *
 * Parts of a split are read in order, and must all be there. A folder with several splits is an error that names them.
 */
import { Effect, FileSystem, Option, Path } from "effect"
import { DatasetError } from "./DatasetError.ts"
import * as RowFiles from "./RowFiles.ts"

/** Descriptions of a data set, in folders of the hub. */
const descriptions = new Set(["dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"])

interface Splits {
  /** The folder of the files. */
  readonly folder: string
  readonly files: ReadonlyMap<string, ReadonlyArray<string>>
  /** Files that were saved in another form. */
  readonly areArrow: boolean
}

const part = /-(\d{5})-of-(\d{5})$/

const splitsOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const names = yield* Effect.orElseSucceed(fs.readDirectory(folder), (): Array<string> => [])
  const files = names.toSorted().filter((name) => RowFiles.isSupported(name) && !descriptions.has(name))
  return {
    folder,
    files: Map.groupBy(files, (name) => RowFiles.stem(name).replace(part, "")),
    areArrow: names.some((name) => name.endsWith(".arrow"))
  } satisfies Splits
})

/** The splits in a folder, or in its folder `data`. */
const inside = Effect.fnUntraced(function* (folder: string) {
  const own = yield* splitsOf(folder)
  if (own.files.size > 0 || own.areArrow) return own
  const { join } = yield* Path.Path
  return yield* splitsOf(join(folder, "data"))
})

/** What is wrong with the files of a split; undefined if they are all of it. */
const problemOf = (names: ReadonlyArray<string>): string | undefined => {
  const [, , count] = part.exec(RowFiles.stem(names[0]!)) ?? []
  if (count === undefined) return names.length === 1 ? undefined : `several files (${names.join(", ")}): give one`
  return Number(count) === names.length ? undefined : `${names.length} of the ${Number(count)} files of a split`
}

const isFolder = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return Option.contains(yield* Effect.option(Effect.map(fs.stat(path), ({ type }) => type)), "Directory")
})

/** Returns the split's name and files if the path is a folder of them or names one in its folder. */
const find = Effect.fnUntraced(function* (path: string) {
  const { basename, dirname } = yield* Path.Path
  if (yield* isFolder(path)) return { splits: yield* inside(path), split: Option.none<string>() }
  const fs = yield* FileSystem.FileSystem
  const isSplit = !(yield* Effect.orElseSucceed(fs.exists(path), () => true)) && (yield* isFolder(dirname(path)))
  if (!isSplit || RowFiles.isSupported(path)) return undefined
  const splits = yield* inside(dirname(path))
  return splits.files.has(basename(path)) ? { splits, split: Option.some(basename(path)) } : undefined
})

/** True if there are rows to read at a path. */
export const exists = Effect.fn("RowFolder.exists")(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return (yield* Effect.orElseSucceed(fs.exists(path), () => false)) || (yield* find(path)) !== undefined
})

/** The files in the order of their rows; errors name `source`. */
export const files = Effect.fn("RowFolder.files")(function* (source: string, path: string) {
  const { join } = yield* Path.Path
  const found = yield* find(path)
  if (found === undefined) return [path]
  const { areArrow, files, folder } = found.splits
  const failed = (message: string) => new DatasetError({ source, message: `${path} is a folder with ${message}` })
  const names = [...files.keys()]
  if (areArrow)
    return yield* failed("Arrow files, as save_to_disk writes them: write the rows with to_parquet or to_json")
  if (names.length === 0) return yield* failed(`no files of rows: expected ${RowFiles.extensions}`)
  const split = Option.getOrElse(found.split, () => (names.length === 1 ? names[0]! : undefined))
  if (split === undefined) {
    const example = names.includes("train") ? "train" : names[0]!
    return yield* failed(
      `the splits or files ${names.join(", ")}: give one, for example ${path.replace(/(?<![/\\])[/\\]+$/, "")}/${example}`
    )
  }
  const own = files.get(split)!
  const problem = problemOf(own)
  return problem === undefined ? own.map((name) => join(folder, name)) : yield* failed(problem)
})
