/**
 * Libraries of this package that are loaded where they are needed: to be tried beforehand, better than to be missed in
 * the middle of a run.
 */
export const lazy: { readonly [name: string]: () => Promise<unknown> } = {
  "@huggingface/tokenizers": () => import("@huggingface/tokenizers"),
  "@runno/wasi": () => import("@runno/wasi"),
  openai: () => import("#openai"),
  "csv-parse": () => import("#csv-parse"),
  "compute-engine": () => import("#latex-syntax"),
  hyparquet: () => import("hyparquet")
}
