//! Rules and evaluations compared with independent programs.

mod chess;
mod landlord;
mod mahjong;
mod poker;
mod vectors;
