//! Drawings shared by several games: cards, dice, tiles, chess pieces, tables, and pools of items.

pub mod cards;
pub mod chess;
pub mod dice;
pub mod items;
pub mod table;
pub mod tiles;
