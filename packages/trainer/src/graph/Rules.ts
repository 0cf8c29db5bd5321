/** Differentiation rules by ONNX operator. */
import type { Rule } from "./Rule.ts"
import { arithmetic } from "./ArithmeticRules.ts"
import { layout } from "./LayoutRules.ts"
import { products } from "./ProductRules.ts"
import { reductions } from "./ReductionRules.ts"

export const rules: Readonly<Record<string, Rule>> = { ...arithmetic, ...layout, ...products, ...reductions }
