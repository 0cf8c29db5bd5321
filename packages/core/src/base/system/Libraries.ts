/**
 * Lazily loaded libraries of this package: tried in advance, so that a missing one is not discovered in the middle of a
 * run.
 */
export const lazy: { readonly [name: string]: () => Promise<unknown> } = {
  "@huggingface/tokenizers": () => import("@huggingface/tokenizers"),
  openai: () => import("#openai"),
  "csv-parse": () => import("#csv-parse"),
  hyparquet: () => import("hyparquet")
}
