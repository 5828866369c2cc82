//! Rules and evaluations compared with those of independent programs.

mod chess;
mod landlord;
mod mahjong;
mod poker;
mod vectors;
