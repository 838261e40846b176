(* The words in which Claims.v speaks.

   Rows are integers, as rows/encoding.py makes them; sums, windows and weights are integers too. Distances are squared, so
   that there is no root. Bounds are the formulas of Formulas.v. `S` and `T` are finite sets that number rows. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ssrZ.
Import GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Definition row p := 'I_p -> Z.
Definition square (I : finType) (x : I -> Z) : Z := \sum_i x i ^+ 2.
Definition distance (I : finType) (x y : I -> Z) : Z := \sum_i (x i - y i) ^+ 2.
(* The list of all columns' numbers, in which form the formulas are given them. *)
Definition listed n (x : 'I_n -> Z) : seq Z := [seq x j | j <- enum 'I_n].

(* ------------------------------------------------------------------ who differs from whom *)
Section Neighbours.
Variables (A : Type) (I : finType).
Variable f : A -> I -> Z.      (* what a row adds to the answer *)
Variable valid : A -> Prop.    (* what is known of a row *)
Variable bound : Z -> Z.       (* the square of the sensitivity, for so many rows of a person *)

(* n rows, of which those in a set of at most m are replaced. *)
Definition rows_replaced := forall (n m : nat) (B : {set 'I_n}) (x y : 'I_n -> A),
  (#|B| <= m)%N -> (forall t, valid (x t)) -> (forall t, valid (y t)) -> (forall t, t \notin B -> x t = y t) ->
  distance (fun i => \sum_t f (x t) i) (fun i => \sum_t f (y t) i) <= bound (Z.of_nat m).

(* n rows, of which those in a set of at most m are taken away. *)
Definition rows_added := forall (n m : nat) (B : {set 'I_n}) (x : 'I_n -> A),
  (#|B| <= m)%N -> (forall t, valid (x t)) ->
  distance (fun i => \sum_t f (x t) i) (fun i => \sum_(t | t \notin B) f (x t) i) <= bound (Z.of_nat m).

(* Two rows are at most so far apart (squared), and one row is at most so long. *)
Definition apart D := forall x y, valid x -> valid y -> distance (f x) (f y) <= D.
Definition alone D := forall x, valid x -> square (f x) <= D.

(* All rows of one person, any number of them, with weights that add up to at most W; `rest` is what all others add. *)
Definition weighs (T : finType) (w : T -> Z) (W : Z) := (forall t, 0 <= w t) /\ \sum_t w t <= W.

Definition person_replaced := forall (S T : finType) (v : S -> Z) (w : T -> Z) (x : S -> A) (y : T -> A) W (rest : I -> Z),
  weighs v W -> weighs w W -> (forall s, valid (x s)) -> (forall t, valid (y t)) ->
  distance (fun i => rest i + \sum_s v s * f (x s) i) (fun i => rest i + \sum_t w t * f (y t) i) <= W ^+ 2 * bound 1.

Definition person_added := forall (T : finType) (w : T -> Z) (x : T -> A) W (rest : I -> Z),
  weighs w W -> (forall t, valid (x t)) ->
  distance (fun i => rest i + \sum_t w t * f (x t) i) rest <= W ^+ 2 * bound 1.
End Neighbours.

(* ------------------------------------------------------------------ moments *)
(* A row with a number appended: a constant, or what a person's weight has made of it; 0 where nothing is. Of labels the
   ones and zeros are columns. *)
Definition appended p := (row p * Z)%type.

(* Squared length of the released vector in units of its noise: entries on the diagonal, entries above it (twice, because
   their noise is smaller by the root of 2), products with what is appended (alike), and the trace. *)
Definition without_trace p (D : 'I_p -> 'I_p -> Z) (d : 'I_p -> Z) : Z :=
  \sum_i D i i ^+ 2 + 2%:R * (\sum_(i < p) \sum_(j < p | (i < j)%N) D i j ^+ 2) + 2%:R * \sum_i d i ^+ 2.
Definition with_trace p D d : Z := @without_trace p D d + (\sum_i D i i) ^+ 2.

Definition moment p (T : finType) (z : T -> appended p) i j : Z := \sum_t (z t).1 i * (z t).1 j.
Definition cross p (T : finType) (z : T -> appended p) i : Z := \sum_t (z t).1 i * (z t).2.

Section Moments.
Variables (p : nat) (row_square constant : Z) (bound : Z -> Z).

(* An encoded row, and a row of a person that its weight w, of W, has shortened; what is appended too. *)
Definition encoded (z : appended p) := square z.1 <= row_square /\ z.2 = constant.
Definition shortened W w (z : appended p) :=
  W * square z.1 <= row_square * w /\ W * z.2 ^+ 2 <= constant ^+ 2 * w.

Definition moments_rows_replaced := forall (n m : nat) (B : {set 'I_n}) (x y : 'I_n -> appended p),
  (#|B| <= m)%N -> (forall t, encoded (x t)) -> (forall t, encoded (y t)) -> (forall t, t \notin B -> x t = y t) ->
  with_trace (fun i j => moment x i j - moment y i j) (fun i => cross x i - cross y i) <= bound (Z.of_nat m).

Definition moments_rows_added := forall (n m : nat) (B : {set 'I_n}) (x : 'I_n -> appended p),
  (#|B| <= m)%N -> (forall t, encoded (x t)) ->
  without_trace (fun i j => moment x i j - \sum_(t | t \notin B) (x t).1 i * (x t).1 j)
                (fun i => cross x i - \sum_(t | t \notin B) (x t).1 i * (x t).2) <= bound (Z.of_nat m).

Definition moments_person_replaced := forall (S T : finType) (v : S -> Z) (w : T -> Z)
    (x : S -> appended p) (y : T -> appended p) W (rest : 'I_p -> 'I_p -> Z) (rest' : 'I_p -> Z),
  0 < W -> weighs v W -> weighs w W -> (forall s, shortened W (v s) (x s)) -> (forall t, shortened W (w t) (y t)) ->
  with_trace (fun i j => (rest i j + moment x i j) - (rest i j + moment y i j))
             (fun i => (rest' i + cross x i) - (rest' i + cross y i)) <= bound 1.

Definition moments_person_added := forall (T : finType) (w : T -> Z) (x : T -> appended p) W
    (rest : 'I_p -> 'I_p -> Z) (rest' : 'I_p -> Z),
  0 < W -> weighs w W -> (forall t, shortened W (w t) (x t)) ->
  without_trace (fun i j => (rest i j + moment x i j) - rest i j) (fun i => (rest' i + cross x i) - rest' i) <= bound 1.
End Moments.

(* ------------------------------------------------------------------ columns *)
Definition clip (low high x : Z) : Z := Num.max low (Num.min high x).

Section Columns.
Variables (p c : nat) (which : 'I_c -> 'I_p).       (* the columns that are asked for *)
Variables (low high : row p) (weight : 'I_c -> Z).
Variables (centre : row p) (reach : 'I_c -> Z) (row_square : Z).

Definition in_ball (k : row p) := square k <= row_square.
Definition clipped (k : row p) j : Z := clip (low j) (high j) (k j).

Definition mean (k : row p) j : Z := weight j * clipped k (which j).
Definition mean_from_origin (k : row p) j : Z := mean k j - mean (fun=> 0) j.
Definition mean_about_centre (k : row p) j : Z := weight j * (clipped k (which j) - centre (which j)).
Definition square_about_centre (k : row p) j : Z := weight j * (clipped k (which j) - centre (which j)) ^+ 2.

(* The assumptions of a query about columns, all public. *)
Definition columns_given := [/\ injective which, forall j, 0 <= weight j & 0 <= row_square].
Definition window_given := forall j, low j <= high j.
Definition centre_given := (forall j, low j <= centre j <= high j) /\
  forall j, high (which j) - centre (which j) <= reach j /\ centre (which j) - low (which j) <= reach j.

Definition widths j := high (which j) - low (which j).
End Columns.

(* Nothing needs to be known of a row. *)
Definition anything (A : Type) (_ : A) := True.

(* A row counts in at most one of the cells of each block; signs say which values are there. *)
Definition cells (J I : finType) := J -> option I.
Definition count (J I : finType) (cell : cells J I) (ji : J * I) : Z := if cell ji.1 == Some ji.2 then 1 else 0.
Definition sign (there : bool) : Z := if there then 1 else -1.
Definition sign_pair n (there : 'I_n -> bool) (ij : 'I_n * 'I_n) : Z :=
  if (ij.1 < ij.2)%N then sign (there ij.1) * sign (there ij.2) else 0.

(* Survey weights: a person's rows enter sums with weights u, their own are v, at most W; the total has two coordinates. *)
Definition weighed (T : finType) (W : Z) (u v : T -> Z) := forall t, [/\ 0 <= u t, #|T|%:R * u t <= v t & v t <= W].
Definition total (T : finType) (W : Z) (u v : T -> Z) (second : bool) : Z :=
  if second then 3%:R * \sum_t u t * (W - v t) else W * \sum_t u t.
