/** The table of differentiation rules, by ONNX operator. */
import type { Rule } from "./Rule.ts"
import { arithmetic } from "./rules/arithmetic.ts"
import { layout } from "./rules/layout.ts"
import { products } from "./rules/products.ts"
import { reductions } from "./rules/reductions.ts"

export const rules: Readonly<Record<string, Rule>> = { ...arithmetic, ...layout, ...products, ...reductions }
