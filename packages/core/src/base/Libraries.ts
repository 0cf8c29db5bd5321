/**
 * Lazily loaded libraries of this package: tried in advance, so that a missing one is not discovered in the middle of a
 * run.
 */
export const lazy: { readonly [name: string]: () => Promise<unknown> } = {
  "@huggingface/tokenizers": () => import("@huggingface/tokenizers"),
  "@runno/wasi": () => import("@runno/wasi"),
  openai: () => import("#openai"),
  "csv-parse": () => import("#csv-parse"),
  "compute-engine": () => import("#latex-syntax"),
  hyparquet: () => import("hyparquet")
}
