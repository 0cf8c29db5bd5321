/**
 * Architectures beside transformers: of what tells them apart, each at least once. All of them: `test/long/model`.
 *
 * Gemma 2 has norms around, windows, caps and embeddings that are scaled; OLMo 3 norms after, yarn and two kinds of
 * positions; Phi-4-mini fused weights and heads turned in part; Qwen3-MoE experts; gpt-oss sinks; Qwen 3.5 layers with
 * states in the place of attention; Ministral 3 queries that grow, and a part for pictures beside it.
 */
import { suite } from "./ArchitectureSuite.ts"

suite(["gemma2", "olmo3", "phi4-mini", "qwen3-moe", "gpt-oss", "qwen3-5", "mistral3-ministral3"])
