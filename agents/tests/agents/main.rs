//! Tests of the public interface of agents, in a single test program so that it is linked only once.

mod alphabeta;
mod bots;
mod botzone;
mod card_bots;
mod common;
mod engines;
mod equilibrium;
mod expectiminimax;
mod fields;
mod ismcts;
mod llm;
mod llm_all_prompts;
mod llm_endpoint;
mod llm_judge;
mod llm_prompter;
mod llm_prompts;
mod mahjong_bots;
mod mcts;
#[cfg(feature = "onnx")]
mod net;
#[cfg(feature = "onnx")]
mod onnx_file;
mod plans;
#[cfg(feature = "onnx")]
mod puct;
mod random;
mod small_bots;
mod solver;
mod spec;
