/** Lazily loaded libraries of this package: tried in advance, as those of core are. */
export const lazy: { readonly [name: string]: () => Promise<unknown> } = {
  "@runno/wasi": () => import("@runno/wasi"),
  "compute-engine": () => import("#latex-syntax")
}
